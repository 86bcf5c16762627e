"""Parses responses in the format `<think>…</think><answer>a || b</answer>`, and names each kind of malformed response.

It knows no environment: whether an action exists is decided by `episode`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

ParseCase = Literal[
    "ok",
    "no_think",
    "no_answer",
    "empty_answer",
    "unclosed",
    "text_outside",
    "too_many_actions",
    "unknown_action",
    "cut_off",
    "empty_response",
]
PARSE_CASES: tuple[ParseCase, ...] = (
    "ok",
    "no_think",
    "no_answer",
    "empty_answer",
    "unclosed",
    "text_outside",
    "too_many_actions",
    "unknown_action",
    "cut_off",
    "empty_response",
)
WELL_FORMED: frozenset[ParseCase] = frozenset({"ok", "too_many_actions"})
SEPARATOR = "||"

_WHOLE = {
    True: re.compile(r"\s*<think>(?P<thought>.*?)</think>\s*<answer>(?P<answer>.*?)</answer>\s*", re.DOTALL),
    False: re.compile(r"\s*<answer>(?P<answer>.*?)</answer>\s*", re.DOTALL),
}
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)
_TAG = re.compile(r"</?(?:think|answer)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedResponse:
    """A parsed response. `actions` are names as written, stripped, at most as many as a turn allows."""

    thought: str
    actions: list[str]
    case: ParseCase

    @property
    def well_formed(self) -> bool:
        return self.case in WELL_FORMED


def parse_response(text: str, *, think: bool, max_actions: int, separator: str | None = SEPARATOR) -> ParsedResponse:
    """Parses `text` (its opener included) into a thought and actions.

    Without a `separator` the answer is one action, without the empty lines around it. Text outside the tags is the case
    `text_outside`, but its answer is still used, as in RAGEN.
    Example: `parse_response("<think>go</think><answer>Up || Left</answer>", think=True, max_actions=2)` has the
    actions `["Up", "Left"]` and the case `ok`.
    """
    whole = _WHOLE[think].fullmatch(text)
    thought = _first(_THOUGHT, text) if think else ""
    answer = whole["answer"] if whole else _first(_ANSWER, text)
    nested = whole is not None and _TAG.search(whole["answer"] + (whole["thought"] if think else ""))
    if whole is None or nested:
        case = _malformed_case(text, think=think)
        actions = _split(answer, separator)[:max_actions] if case == "text_outside" else []
        return ParsedResponse(thought=thought.strip(), actions=actions, case=case)
    actions = _split(answer, separator)
    if not actions:
        return ParsedResponse(thought=thought.strip(), actions=[], case="empty_answer")
    case = "too_many_actions" if len(actions) > max_actions else "ok"
    return ParsedResponse(thought=thought.strip(), actions=actions[:max_actions], case=case)


def _malformed_case(text: str, *, think: bool) -> ParseCase:
    """Why `text` is not one well-formed response; the first reason in reading order."""
    if think and "<think>" not in text:
        return "no_think"
    if think and "</think>" not in text:
        return "unclosed"
    if "<answer>" not in text:
        return "no_answer"
    if "</answer>" not in text:
        return "unclosed"
    return "text_outside"


def _split(answer: str, separator: str | None) -> list[str]:
    if separator is None:
        return [answer.strip("\r\n").rstrip()] if answer.strip() else []
    return [part.strip() for part in answer.split(separator) if part.strip()]


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""
