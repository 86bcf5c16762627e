"""Drawings of type `page`, built from parts: what is empty leaves nothing behind, a heading neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.environments.base import Drawing

Blocks = list[dict[str, Any]]


def page(title: str, *parts: Blocks) -> Drawing:
    return {"type": "page", "title": title, "blocks": [block for part in parts for block in part]}


def section(heading: str, *parts: Blocks) -> Blocks:
    """The parts below a heading; nothing if there are none."""
    blocks = [block for part in parts for block in part]
    return [{"kind": "heading", "text": heading}, *blocks] if blocks else []


def text(words: str) -> Blocks:
    return [{"kind": "text", "text": words}] if words else []


def code(lines: str) -> Blocks:
    return [{"kind": "code", "text": lines}] if lines else []


def listed(items: Sequence[str]) -> Blocks:
    return [{"kind": "list", "text": list(items)}] if items else []


def shortened(words: str, most: int) -> str:
    """The first `most` characters of stripped `words`, with their number if that is not all."""
    words = words.strip()
    return words if len(words) <= most else f"{words[:most]}... ({len(words)} characters)"
