"""Side by side: what is equal turn by turn, and where a trajectory first diverges from another."""

from __future__ import annotations

from typing import Any

from webapp.trajectories.alignment import align


def turn(response: str, *executed: str, state: str | None = None) -> dict[str, Any]:
    frames = [{"drawing": {"at": state}, "observation": state}] if state else []
    return {"response": response, "executed": list(executed), "frames": frames}


def record(*turns: dict[str, Any], start: str = "a") -> dict[str, Any]:
    return {"initial": {"drawing": {"at": start}, "observation": start}, "turns": list(turns)}


def test_texts_actions_and_states_diverge_independently() -> None:
    first = record(turn("x", "Up", state="b"), turn("y", "Up", state="c"), turn("z", "Up", state="d"))
    other = record(turn("q", "Up", state="b"), turn("y", "Left", state="c"), turn("z", "Up", state="e"))
    _, aligned = align([first, other])
    assert aligned.divergences == {"text": 1, "action": 2, "state": 3}
    assert [cell.diverging for cell in aligned.cells] == [["different text"], ["different action"], ["different state"]]
    assert [sorted(cell.same) for cell in aligned.cells] == [["action", "state"], ["state", "text"], ["action", "text"]]
    assert aligned.summary == "from turn 1: different text; from turn 2: different action; from turn 3: different state"


def test_the_first_column_has_no_difference() -> None:
    first, _ = align([record(turn("x", "Up", state="b")), record(turn("y"))])
    assert (first.divergences, first.cells[0].same) == ({}, frozenset())


def test_identical_trajectories_have_no_difference() -> None:
    _, aligned = align([record(turn("x", "Up", state="b")), record(turn("x", "Up", state="b"))])
    assert aligned.summary == "identical"


def test_a_shorter_trajectory_diverges_where_it_ends() -> None:
    long = record(turn("x", "Up", state="b"), turn("y", "Up", state="c"))
    short = record(turn("x", "Up", state="b"))
    assert align([long, short])[1].divergences == {"text": 2, "action": 2, "state": 2}
    assert len(align([long, short])[1].cells) == 1
    assert align([short, long])[1].divergences == {"text": 2, "action": 2, "state": 2}


def test_a_turn_without_an_action_keeps_the_state() -> None:
    _, aligned = align([record(turn("x"), turn("y", "Up", state="b")), record(turn("x"), turn("y", "Up", state="c"))])
    assert aligned.cells[0].drawing == {"at": "a"}
    assert aligned.divergences == {"state": 2}


def test_trajectories_of_different_problems_differ_from_the_first_turn() -> None:
    _, aligned = align([record(turn("x")), record(turn("x"), start="b")])
    assert aligned.summary == "from the start: different state"


def test_states_without_a_drawing_are_compared_by_text() -> None:
    first, other = record(turn("x")), record(turn("x"))
    for one, words in ((first, "here"), (other, "there")):
        one["initial"] = {"observation": words, "drawing": None}
    assert align([first, other])[1].divergences["state"] == 0


def test_records_without_turns_are_aligned_too() -> None:
    assert [one.cells for one in align([record(), record()])] == [[], []]
