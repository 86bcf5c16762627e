"""The searchable text of a record: its thoughts and actions, turn by turn."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

TURN = "\x1e"  # before each turn; not a letter, so that no index contains it
MOST_CHARACTERS = 200_000  # of each kind: PostgreSQL indexes at most a megabyte of text
UNSTORABLE = re.compile(r"[\x00\x1e\ud800-\udfff]")  # what databases refuse, and the separator itself


def thoughts_of(record: dict[str, Any]) -> str:
    return _joined(record, _thought)


def actions_of(record: dict[str, Any]) -> str:
    """The actions that the model wrote, and those that were executed."""
    return _joined(record, _actions)


def _thought(turn: dict[str, Any]) -> str:
    """The thought; for a response that could not be parsed, all of it."""
    return str(turn.get("thought") or ("" if turn.get("parse") == "ok" else turn.get("response", "")))


def _actions(turn: dict[str, Any]) -> str:
    parsed, executed = turn.get("parsed") or [], turn.get("executed") or []
    return ", ".join(map(str, [*parsed, *(name for name in executed if name not in parsed)]))


def _joined(record: dict[str, Any], text_of: Callable[[dict[str, Any]], str]) -> str:
    text = "".join(TURN + UNSTORABLE.sub("\ufffd", text_of(turn)) for turn in record["turns"])
    return text[:MOST_CHARACTERS]
