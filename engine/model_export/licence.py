"""The licence of a base model, as far as its own files say. No torch, and no network."""

from __future__ import annotations

import re
from pathlib import Path

from engine.policies.model_paths import BUNDLED, local_folder, model_revision, model_source

OURS = "apache-2.0"  # of the models that ship
FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*$", re.DOTALL | re.MULTILINE)
LICENCE = re.compile(r"^license:\s*[\"']?([\w.+-]+)[\"']?\s*$", re.MULTILINE)


def licence_of(model: str) -> str:
    """By its identifier on the Hub, such as `apache-2.0`; empty if it is not known. It is read from the model card next
    to the weights, or in the local cache of the Hub."""
    if model in BUNDLED:
        return OURS
    folder = local_folder(model)
    card = folder / "README.md" if folder is not None else _cached_card(model)
    return _licence_in(card) if card is not None else ""


def _licence_in(card: Path) -> str:
    try:
        front = FRONT_MATTER.match(card.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""
    found = LICENCE.search(front[1]) if front else None
    return found[1] if found else ""


def _cached_card(model: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(model_source(model), "README.md", revision=model_revision(model))
    except HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None
