"""Side by side: what is the same turn by turn, and where a trajectory first parts from another."""

from __future__ import annotations

from typing import Any

from webapp.trajectories.alignment import align


def turn(response: str, *executed: str, state: str | None = None) -> dict[str, Any]:
    frames = [{"drawing": {"at": state}, "observation": state}] if state else []
    return {"response": response, "executed": list(executed), "frames": frames}


def record(*turns: dict[str, Any], start: str = "a") -> dict[str, Any]:
    return {"initial": {"drawing": {"at": start}, "observation": start}, "turns": list(turns)}


def test_words_part_before_actions_and_actions_before_states() -> None:
    first = record(turn("x", "Up", state="b"), turn("y", "Up", state="c"), turn("z", "Up", state="d"))
    other = record(turn("q", "Up", state="b"), turn("y", "Left", state="c"), turn("z", "Up", state="e"))
    _, aligned = align([first, other])
    assert aligned.partings == {"text": 1, "action": 2, "state": 3}
    assert [cell.parts for cell in aligned.cells] == [["other words"], ["another action"], ["another state"]]
    assert [sorted(cell.same) for cell in aligned.cells] == [["action", "state"], ["state", "text"], ["action", "text"]]
    assert aligned.words == "from turn 1: other words; from turn 2: another action; from turn 3: another state"


def test_the_first_parts_from_nothing_and_claims_no_sameness() -> None:
    first, _ = align([record(turn("x", "Up", state="b")), record(turn("y"))])
    assert (first.partings, first.cells[0].same) == ({}, frozenset())


def test_equals_are_the_same_throughout() -> None:
    _, aligned = align([record(turn("x", "Up", state="b")), record(turn("x", "Up", state="b"))])
    assert aligned.words == "the same throughout"


def test_one_that_ends_earlier_parts_where_it_ended() -> None:
    long = record(turn("x", "Up", state="b"), turn("y", "Up", state="c"))
    short = record(turn("x", "Up", state="b"))
    assert align([long, short])[1].partings == {"text": 2, "action": 2, "state": 2}
    assert len(align([long, short])[1].cells) == 1
    assert align([short, long])[1].partings == {"text": 2, "action": 2, "state": 2}


def test_a_turn_without_an_action_keeps_the_state() -> None:
    _, aligned = align([record(turn("x"), turn("y", "Up", state="b")), record(turn("x"), turn("y", "Up", state="c"))])
    assert aligned.cells[0].drawing == {"at": "a"}
    assert aligned.partings == {"state": 2}


def test_other_problems_differ_from_the_start() -> None:
    _, aligned = align([record(turn("x")), record(turn("x"), start="b")])
    assert aligned.words == "from the start: another state"


def test_states_without_a_drawing_are_told_apart_by_their_words() -> None:
    first, other = record(turn("x")), record(turn("x"))
    for one, words in ((first, "here"), (other, "there")):
        one["initial"] = {"observation": words, "drawing": None}
    assert align([first, other])[1].partings["state"] == 0


def test_records_without_turns_are_aligned_too() -> None:
    assert [one.cells for one in align([record(), record()])] == [[], []]
