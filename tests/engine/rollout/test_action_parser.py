"""Every way a response can be well or badly formed."""

from __future__ import annotations

import pytest

from engine.rollout.action_parser import parse_response


def parse(text: str, *, think: bool = True, max_actions: int = 2) -> tuple[str, list[str], str]:
    response = parse_response(text, think=think, max_actions=max_actions)
    return response.thought, response.actions, response.case


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
        ("<think>go up</think><answer>Up", "unclosed"),
        ("<think>a</think><answer> || </answer>", "empty_answer"),
        ("<think>a</think><answer></answer>", "empty_answer"),
        ("<think>a<think>b</think><answer>Up</answer>", "text_outside"),
    ],
)
def test_each_malformed_response_has_its_own_name(text: str, case: str) -> None:
    assert parse(text)[2] == case


def test_text_outside_the_tags_is_a_fault_but_its_answer_is_read() -> None:
    assert parse("<think>a</think>well<answer>Up</answer>") == ("a", ["Up"], "text_outside")


def test_actions_beyond_the_allowance_are_dropped_and_named() -> None:
    assert parse("<think>a</think><answer>Up||Up||Down</answer>") == ("a", ["Up", "Up"], "too_many_actions")


def test_a_separator_with_nothing_on_one_side_adds_no_action() -> None:
    assert parse("<think>a</think><answer>Up || </answer>") == ("a", ["Up"], "ok")
