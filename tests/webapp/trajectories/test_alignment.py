"""Side by side: what is the same turn by turn, and where a trajectory first acts differently from another."""

from __future__ import annotations

from typing import Any

from webapp.trajectories.alignment import align


def turn(response: str, *executed: str, state: str | None = None) -> dict[str, Any]:
    frames = [{"drawing": {"at": state}, "observation": state}] if state else []
    return {"response": response, "executed": list(executed), "frames": frames}


def record(*turns: dict[str, Any], start: str = "a") -> dict[str, Any]:
    return {"initial": {"drawing": {"at": start}, "observation": start}, "turns": list(turns)}


def test_other_words_are_no_divergence_and_the_first_other_action_is() -> None:
    first = record(turn("x", "Up", state="b"), turn("y", "Up", state="c"), turn("z", "Up", state="d"))
    other = record(turn("q", "Up", state="b"), turn("y", "Left", state="c"), turn("z", "Up", state="e"))
    _, aligned = align([first, other])
    assert aligned.divergence is not None
    assert (aligned.divergence.turn, aligned.divergence.index, aligned.divergence.text) == (2, 0, "Left, not Up")
    assert [cell.divergence is not None for cell in aligned.cells] == [False, True, False]
    # the third turn begins in the same state and has the same action, with another state after it
    assert [cell.is_alike for cell in aligned.cells] == [True, False, True]
    assert [cell.differs_in for cell in aligned.cells] == [["words"], [], ["outcome"]]
    assert aligned.lesser == ["same actions, other outcome from turn 3", "same actions, other words from turn 1"]


def test_the_divergence_is_at_the_action_that_differs_within_its_turn() -> None:
    first = record(turn("x", "Up", "Up", "Left", state="b"))
    for actions, index, text in (
        (("Up", "Down", "Left"), 1, "Down, not Up"),
        (("Up", "Up"), 2, "no action, not Left"),
        (("Up", "Up", "Left", "Left"), 3, "Left, where the first has no action"),
        ((), 0, "no action, not Up"),
    ):
        divergence = align([first, record(turn("x", *actions, state="b"))])[1].divergence
        assert divergence is not None
        assert (divergence.turn, divergence.index, divergence.text) == (1, index, text)


def test_the_same_actions_may_have_another_outcome_which_is_no_divergence() -> None:
    first = record(turn("x", "Up", state="b"), turn("y", "Up", state="c"))
    slipped = record(turn("x", "Up", state="B"), turn("y", "Up", state="c"))
    _, aligned = align([first, slipped])
    assert aligned.divergence is None
    assert aligned.lesser == ["same actions, other outcome from turn 1"]
    assert [cell.is_alike for cell in aligned.cells] == [True, False]  # the second acted in another state


def test_the_first_column_has_no_difference() -> None:
    first, _ = align([record(turn("x", "Up", state="b")), record(turn("y"))])
    assert (first.divergence, first.cells[0].same, first.cells[0].is_alike) == (None, frozenset(), False)


def test_identical_trajectories_have_no_difference() -> None:
    _, aligned = align([record(turn("x", "Up", state="b")), record(turn("x", "Up", state="b"))])
    assert (aligned.starts_alike, aligned.divergence, aligned.lesser) == (True, None, [])


def test_a_shorter_trajectory_diverges_where_it_ends() -> None:
    long = record(turn("x", "Up", state="b"), turn("y", "Left", state="c"))
    short = record(turn("x", "Up", state="b"))
    _, shorter = align([long, short])
    _, longer = align([short, long])
    assert shorter.divergence is not None and longer.divergence is not None
    assert (shorter.divergence.turn, shorter.divergence.text, len(shorter.cells)) == (2, "it has ended", 1)
    assert (longer.divergence.turn, longer.divergence.text) == (2, "the first has ended")


def test_a_turn_without_an_action_keeps_the_state() -> None:
    _, aligned = align([record(turn("x"), turn("y", "Up", state="b")), record(turn("x"), turn("y", "Up", state="c"))])
    assert aligned.cells[0].drawing == {"at": "a"}
    assert (aligned.divergence, aligned.outcome) == (None, 2)


def test_trajectories_of_different_problems_start_in_another_state() -> None:
    _, aligned = align([record(turn("x")), record(turn("x"), start="b")])
    assert not aligned.starts_alike
    assert not aligned.cells[0].is_alike


def test_states_without_a_drawing_are_compared_by_text() -> None:
    first, other = record(turn("x")), record(turn("x"))
    for one, words in ((first, "here"), (other, "there")):
        one["initial"] = {"observation": words, "drawing": None}
    assert not align([first, other])[1].starts_alike


def test_records_without_turns_are_aligned_too() -> None:
    assert [one.cells for one in align([record(), record()])] == [[], []]
