"""Parses responses in the format `<think>…</think><answer>a || b</answer>`, and names each kind of malformed response.

The actions are those that RAGEN's published rule takes: of the first answer that follows a thought (without thinking,
of the first answer), without the markers in it, split, trimmed, empty ones dropped, the first `max_actions` of them.
Three things differ. Where actions are free text the whole answer is one, as written. Text outside the tags and tags
within the parts are played too, but are the case `text_outside`, which is malformed. What is beyond `max_actions` is
counted, and its position is known. It reads a text once, and knows no environment: whether an action exists is decided
by `episode`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

ParseCase = Literal[
    "ok",
    "no_think",
    "no_answer",
    "empty_answer",
    "unclosed",
    "text_outside",
    "unknown_action",
    "cut_off",
    "empty_response",
]
PARSE_CASES: tuple[ParseCase, ...] = get_args(ParseCase)
SEPARATOR = "||"
TAGS = ("<think>", "</think>", "<answer>", "</answer>")
MARKERS = (*TAGS, "<|im_start|>", "<|im_end|>")  # of no action's name

_THINK, _END_THINK, _ANSWER, _END_ANSWER = TAGS
_ANSWER_AFTER_THOUGHT = re.compile(r"</think>\s*<answer>")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedResponse:
    """A parsed response. `actions` are names as written, stripped, at most as many as a turn allows.

    `surplus` counts the actions after them, and `surplus_span` is where these are in the text: from the separator after
    the last of `actions` to the end of the answer.
    """

    thought: str
    actions: list[str]
    case: ParseCase
    surplus: int = 0
    surplus_span: tuple[int, int] | None = None

    @property
    def well_formed(self) -> bool:
        return self.case == "ok"


@dataclass(frozen=True, slots=True)
class _Block:
    """Positions of a thought and its answer: where the block, each part and the text after it begin."""

    start: int
    thought: slice
    answer: slice
    end: int


def parse_response(text: str, *, think: bool, max_actions: int, separator: str | None = SEPARATOR) -> ParsedResponse:
    """Parses `text` (its opener included) into a thought and actions.

    Without a `separator` the answer is one action, without the empty lines around it.
    Example: `parse_response("<think>go</think><answer>Up || Left</answer>", think=True, max_actions=2)` has the
    actions `["Up", "Left"]` and the case `ok`.
    """
    block = _block_after_thought(text) if think else _first_answer(text)
    if block is None:
        return ParsedResponse(thought=_first_thought(text) if think else "", actions=[], case=_missing(text, think))
    thought = text[block.thought].strip()
    actions, surplus, beyond = _split(text[block.answer], separator, max_actions)
    case: ParseCase = "text_outside"
    if _is_whole(text, block):
        case = "ok" if actions else "empty_answer"
    if not surplus:
        return ParsedResponse(thought=thought, actions=actions, case=case)
    span = (block.answer.start + beyond, block.answer.stop)
    return ParsedResponse(thought=thought, actions=actions, case=case, surplus=surplus, surplus_span=span)


def _block_after_thought(text: str) -> _Block | None:
    """From the first `<think>` to the end of the first answer that directly follows a `</think>`.

    If any thought has such an answer, the first `<think>` has one too, so later ones need not be tried.
    """
    start = text.find(_THINK)
    match = _ANSWER_AFTER_THOUGHT.search(text, start + len(_THINK)) if start >= 0 else None
    end = text.find(_END_ANSWER, match.end()) if match else -1
    if match is None or end < 0:
        return None
    return _Block(start, slice(start + len(_THINK), match.start()), slice(match.end(), end), end + len(_END_ANSWER))


def _first_answer(text: str) -> _Block | None:
    start = text.find(_ANSWER)
    begin = start + len(_ANSWER)
    end = text.find(_END_ANSWER, begin) if start >= 0 else -1
    return _Block(start, slice(start, start), slice(begin, end), end + len(_END_ANSWER)) if end >= 0 else None


def _is_whole(text: str, block: _Block) -> bool:
    """Whether the response is this block and nothing else."""
    if text[: block.start].strip() or text[block.end :].strip():
        return False
    return not any(tag in text[part] for tag in TAGS for part in (block.thought, block.answer))


def _missing(text: str, think: bool) -> ParseCase:
    """Why `text` has no thought with an answer; the first reason in reading order."""
    position = 0
    if think:
        start = text.find(_THINK)
        position = text.find(_END_THINK, start) if start >= 0 else -1
        if position < 0:
            return "no_think" if start < 0 else "unclosed"
    answer = text.find(_ANSWER, position)
    if answer < 0:
        return "no_answer"
    return "text_outside" if text.find(_END_ANSWER, answer) >= 0 else "unclosed"


def _first_thought(text: str) -> str:
    start = text.find(_THINK)
    end = text.find(_END_THINK, start) if start >= 0 else -1
    return text[start + len(_THINK) : end].strip() if end >= 0 else ""


def _split(answer: str, separator: str | None, max_actions: int) -> tuple[list[str], int, int]:
    """The actions, how many more there are, and where in `answer` the separator before those is."""
    if separator is None:
        return ([answer.strip("\r\n").rstrip()] if answer.strip() else []), 0, 0
    bare, positions = _without_markers(answer)
    actions: list[str] = []
    surplus = beyond = at = 0
    for part in bare.split(separator):
        at += len(part)
        name = part.strip()
        if name and len(actions) < max_actions:
            actions.append(name)
            beyond = at
        elif name:
            surplus += 1
        at += len(separator)
    return actions, surplus, positions[beyond] if surplus else 0


def _without_markers(answer: str) -> tuple[str, Sequence[int]]:
    """`answer` without markers, and where in it each remaining character was."""
    positions: Sequence[int] = range(len(answer))
    for marker in MARKERS:
        parts = answer.split(marker)
        if len(parts) == 1:
            continue
        kept: list[int] = []
        at = 0
        for part in parts:
            kept += positions[at : at + len(part)]
            at += len(part) + len(marker)
        answer, positions = "".join(parts), kept
    return answer, positions
