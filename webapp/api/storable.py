"""What a JSON body may hold and no database stores: NUL, half of a surrogate pair, and numbers that are not finite."""

from __future__ import annotations

import math
from typing import Any

from webapp.live.reading import can_be_a_name

TEXT = "The text has a NUL character or half of a surrogate pair. Remove it."
NAME = "A name in it has a NUL character or half of a surrogate pair. Remove it."


def unstorable(data: Any, path: str = "") -> dict[str, str]:
    """The reason by dotted path; empty if all of it can be stored."""
    if isinstance(data, str):
        return {} if can_be_a_name(data) else {path: TEXT}
    if isinstance(data, float) and not math.isfinite(data):
        return {path: f"The number is {data}; numbers must be finite."}
    if isinstance(data, dict):
        if not all(map(can_be_a_name, data)):
            return {path: NAME}
        parts: Any = data.items()
    elif isinstance(data, list):
        parts = enumerate(data)
    else:
        return {}
    found: dict[str, str] = {}
    for name, part in parts:
        found |= unstorable(part, f"{path}.{name}" if path else str(name))
    return found
