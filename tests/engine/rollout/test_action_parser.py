"""Every way a response can be well or badly formed, and the same actions as RAGEN's rule gives."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.environments.checker import FORBIDDEN_IN_NAMES
from engine.rollout.action_parser import MARKERS, parse_response

PIECES = [
    "<think>", "</think>", "<answer>", "</answer>", "<|im_start|>", "<|im_end|>", "||", "|", " ", "\n", "\u2003",
    "Up", "Left", "f<x>", "<", ">", "</", "<answer", "think>", "é",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
BLOCK = "<think>a</think><answer>{}</answer>"


def parse(text: str, *, think: bool = True, max_actions: int = 2) -> tuple[str, list[str], str]:
    response = parse_response(text, think=think, max_actions=max_actions)
    return response.thought, response.actions, response.case


def surplus_of(text: str, *, think: bool = True, max_actions: int = 2) -> tuple[int, str]:
    """How many actions are surplus, and the part of the text that has them."""
    response = parse_response(text, think=think, max_actions=max_actions)
    start, end = response.surplus_span or (0, 0)
    return response.surplus, text[start:end]


def by_the_published_rule(text: str, *, think: bool, max_actions: int) -> tuple[str, list[str]] | None:
    """Thought and actions as RAGEN's rule says: one regular expression, markers removed, split, trimmed, the first
    ones. None where it matches nothing."""
    before = r"<think>(?P<thought>.*?)</think>\s*" if think else "(?P<thought>)"
    match = re.search(before + r"<answer>(?P<answer>.*?)</answer>", text, re.DOTALL)
    if match is None:
        return None
    found = match.groupdict()
    for marker in ("<think>", "</think>", "<answer>", "</answer>", "<|im_start|>", "<|im_end|>"):
        found = {name: part.replace(marker, "").strip() for name, part in found.items()}
    actions = [part.strip() for part in found["answer"].split("||") if part.strip()]
    return found["thought"], actions[:max_actions]


@settings(max_examples=400, deadline=None)
@given(TEXTS, TEXTS, st.booleans(), st.integers(1, 3))
@example("<think>no <answer>Up</answer> yet</think><answer>Left</answer>", "", True, 2)
@example("<think>a</think><answer>Up|", "<think>|Left</answer>", True, 1)
@example("<think>a</think> b </think> <answer>Up</answer>", "</think><answer>Left</answer>", True, 2)
def test_actions_are_those_of_the_published_rule(head: str, tail: str, think: bool, max_actions: int) -> None:
    for text in (head + tail, f"{head}<think>{tail}</think><answer>{head}</answer>{tail}"):
        expected = by_the_published_rule(text, think=think, max_actions=max_actions)
        response = parse_response(text, think=think, max_actions=max_actions)
        assert response.actions == (expected[1] if expected else [])
        if expected and "<|im_" not in text:
            assert response.thought == expected[0] or not response.well_formed
        # what the rule matches is well-formed here only if there is nothing else
        assert not response.well_formed or (expected is not None and expected[1])
        if response.surplus_span is not None:
            start, end = response.surplus_span
            assert text[end:].startswith("</answer>")
            # without its surplus the response has the same actions and nothing more
            cut = parse_response(text[:start] + text[end:], think=think, max_actions=max_actions)
            assert (cut.thought, cut.actions, cut.surplus) == (response.thought, response.actions, 0)


def test_a_well_formed_response_gives_its_thought_and_its_actions() -> None:
    assert parse("<think> go up </think><answer>Up || Left</answer>") == ("go up", ["Up", "Left"], "ok")


def test_without_thinking_only_the_answer_is_asked_for() -> None:
    assert parse("<answer>Up</answer>", think=False) == ("", ["Up"], "ok")


def test_space_between_and_around_the_tags_is_allowed() -> None:
    assert parse("<think>a</think> \n <answer>Up</answer>\n")[2] == "ok"


@pytest.mark.parametrize(
    ("text", "case"),
    [
        ("Up", "no_think"),
        ("<think>go up", "unclosed"),
        ("<think>go up</think>Up", "no_answer"),
        ("<think>go <answer>Up</answer></think>", "no_answer"),
        ("<answer>Up</answer><think>go</think>", "no_answer"),
        ("<think>go up</think><answer>Up", "unclosed"),
        ("<think>a</think></answer><answer>Up", "unclosed"),
        ("<think>a</think><answer> || </answer>", "empty_answer"),
        ("<think>a</think><answer></answer>", "empty_answer"),
        ("<think>a</think>well<answer>Up</answer>", "text_outside"),
        ("<think>a<think>b</think><answer>Up</answer>", "text_outside"),
    ],
)
def test_each_malformed_response_has_its_own_name(text: str, case: str) -> None:
    assert parse(text)[2] == case


@pytest.mark.parametrize("text", ["well {}", "{} done", "{}</answer>"])
def test_text_around_the_two_parts_is_a_fault_but_their_actions_are_played(text: str) -> None:
    assert parse(text.format(BLOCK.format("Up"))) == ("a", ["Up"], "text_outside")


def test_an_answer_that_no_thought_directly_precedes_is_not_played() -> None:
    assert parse("<think>a</think>well<answer>Up</answer>") == ("a", [], "text_outside")


def test_an_answer_within_the_thought_is_not_played() -> None:
    thought = "maybe <answer>Up</answer> no"
    assert parse(f"<think>{thought}</think><answer>Left</answer>") == (thought, ["Left"], "text_outside")
    assert parse(f"<think>{thought}</think>") == (thought, [], "no_answer")


def test_names_that_the_rule_would_change_are_refused() -> None:
    assert set(FORBIDDEN_IN_NAMES) == {*MARKERS, "\n"}


def test_of_repeated_blocks_the_first_is_played() -> None:
    assert parse(BLOCK.format("Up") + BLOCK.format("Left")) == ("a", ["Up"], "text_outside")


def test_a_name_may_contain_angle_brackets() -> None:
    assert parse(BLOCK.format("search[<b>] || x < y > z")) == ("a", ["search[<b>]", "x < y > z"], "ok")


def test_actions_beyond_the_limit_are_surplus_and_the_response_is_well_formed() -> None:
    text = BLOCK.format("Up || Left || Down ||Right ")
    assert parse(text) == ("a", ["Up", "Left"], "ok")
    assert surplus_of(text) == (2, "|| Down ||Right ")


def test_the_surplus_begins_at_the_first_separator_after_the_last_played_action() -> None:
    assert surplus_of(BLOCK.format("Up||Left|| ||Down")) == (1, "|| ||Down")
    assert surplus_of(BLOCK.format("Up|<think>|Left||Down"), max_actions=1) == (2, "|<think>|Left||Down")
    assert surplus_of("<answer>Up||Up</answer>", think=False, max_actions=1) == (1, "||Up")
    assert surplus_of(BLOCK.format("Up||Left|| ||")) == (0, "")


def test_a_separator_with_nothing_on_one_side_adds_no_action() -> None:
    assert parse("<think>a</think><answer>Up || </answer>") == ("a", ["Up"], "ok")


def test_free_text_is_one_action_as_written() -> None:
    answer = "\n  print('x||y <think>')\n"
    found = parse_response(BLOCK.format(answer), think=True, max_actions=1, separator=None)
    assert (found.actions, found.surplus) == (["  print('x||y <think>')"], 0)


HARD = ["</think><answer>", "<think></think>", "<answer>||", "</think> \n", "<think>|<answer>|", "|<think>|"]


@pytest.mark.parametrize("piece", HARD)
@pytest.mark.parametrize("think", [True, False])
def test_the_time_grows_with_the_length(piece: str, think: bool) -> None:
    """A megabyte in seconds, where the time of the regular expression grows with the square."""
    text = ("<think>" if think else "<answer>") + piece * (2**20 // len(piece))
    started = time.perf_counter()
    for ending in ("", "</answer>"):
        parse_response(text + ending, think=think, max_actions=2)
    assert time.perf_counter() - started < 5.0
