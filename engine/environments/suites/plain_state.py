"""The fields of an object as plain JSON, to distinguish problems whose difference is not shown."""

from __future__ import annotations

from typing import Any

import numpy as np

LONGEST = 2000  # longer collections are tables of the game, not its problem
DEEPEST = 6


def plain_state(game: Any) -> Any:
    """The fields of a game and of its `state.game_state`, in an order of their own."""
    fields = {name: value for name, value in vars(game).items() if name != "state"}
    return [_plain(fields, DEEPEST), _plain(getattr(game.state, "game_state", None), DEEPEST)]


def _plain(value: Any, depth: int) -> Any:
    """Objects and what is nested too deeply become the names of their types: their addresses would differ."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth and isinstance(value, dict | list | tuple | set | frozenset) and len(value) <= LONGEST:
        if isinstance(value, dict):
            return sorted(([str(key), _plain(one, depth - 1)] for key, one in value.items()), key=lambda pair: pair[0])
        items = [_plain(one, depth - 1) for one in value]
        return sorted(items, key=repr) if isinstance(value, set | frozenset) else items
    return type(value).__name__
