"""Values as the text of a form's inputs, and configurations as texts by dotted path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def text_of(value: Any) -> str:
    """A value as an input shows it: booleans as true and false, lists and tables as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value) if isinstance(value, list | tuple | dict) else str(value)


def flatten(data: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A configuration as `{dotted path: text}`, without its lists, which have editors of their own."""
    flat: dict[str, str] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        elif not isinstance(value, list | tuple):
            flat[f"{prefix}{key}"] = text_of(value)
    return flat


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
