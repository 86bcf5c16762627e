"""Trajectories are found by words in their thoughts and actions, on SQLite and PostgreSQL alike."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from tests.builders.runs import build_run
from tests.hostile import HOSTILE, STORABLE
from tests.webapp.security.page_reader import read_page
from tests.webapp.world import trajectory_record
from webapp.runs.models import Run
from webapp.trajectories.filters import read_filters
from webapp.trajectories.models import Trajectory, TrajectoryText
from webapp.trajectories.search.snippets import snippet
from webapp.trajectories.search.terms import Term, read_terms
from webapp.trajectories.texts import TURN, actions_of, thoughts_of
from workers.bridge import save_trajectories
from workers.rows import Rows
from workers.trajectory_rows import _text, _trajectory


def turn(thought: str, *actions: str, parse: str = "ok", response: str = "") -> dict[str, Any]:
    return {**trajectory_record(0, response)["turns"][0], "thought": thought, "parsed": list(actions),
            "executed": list(actions), "parse": parse}  # fmt: skip


def save(run: Run, *recorded: list[dict[str, Any]]) -> list[Trajectory]:
    """One trajectory per list of turns, saved as the worker saves them."""
    rows = Rows(run)
    rows.trajectories["s"], rows.texts["s"], rows.lost["s"] = [], {}, []
    for member, turns in enumerate(recorded):
        record = {**trajectory_record(member, "x"), "turns": turns}
        rows.trajectories["s"].append(_trajectory(run, "s", member, 1, record))
        rows.texts["s"][member] = _text(run, record)
    save_trajectories(rows)
    return list(run.trajectories.order_by("member"))


def found(run: Run, query: str) -> list[int]:
    rows = read_filters({"q": query}, run_id=run.pk).apply(Trajectory.objects.filter(run=run))
    return sorted(rows.values_list("member", flat=True))


@pytest.fixture
def saved(run: Run) -> list[Trajectory]:
    return save(
        run,
        [turn("There is a hole on the left", "Right"), turn("Now the goal is near", "Down", "Down")],
        [turn("The hole is far; the way left is free", "Left")],
        [turn("Über das Café, step 12", "Up"), turn("", parse="no_think", response="I slipped again")],
    )


@pytest.mark.parametrize(
    ("query", "members"),
    [
        ("hole", [0, 1]),
        ("HOLE", [0, 1]),
        ("hole goal", [0]),
        ('"hole is far"', [1]),
        ('"hole far"', []),
        ("hole-is.far", [1]),  # punctuation separates words: three adjacent ones
        ("ho*", [0, 1]),
        ("ho", []),
        ('"the le*"', []),
        ("right", [0]),  # an action
        ("down*", [0]),
        ("slipped", [2]),  # in a response that could not be parsed
        ("12", [2]),
        ("café", [2]),
        ('"unclosed left', []),
        ('"way left', [1]),
    ],
)
def test_words_prefixes_and_phrases_are_found(
    run: Run, saved: list[Trajectory], query: str, members: list[int]
) -> None:
    assert found(run, query) == members


def test_other_runs_are_not_searched(run: Run, saved: list[Trajectory]) -> None:
    other = build_run(name="other")
    save(other, [turn("one hole", "Up")])
    assert found(run, "hole") == [0, 1]
    assert found(other, "hole") == [0]
    everywhere = read_filters({"q": "hole"}).apply(Trajectory.objects.all())
    assert everywhere.count() == 3


def test_deleted_trajectories_are_removed_from_the_index(run: Run, saved: list[Trajectory]) -> None:
    saved[0].delete()
    assert found(run, "hole") == [1]
    TrajectoryText.objects.filter(run=run, thoughts__contains="far").update(thoughts="changed words")
    assert (found(run, "hole"), found(run, "changed")) == ([], [1])
    run.delete()
    assert read_filters({"q": "changed"}).apply(Trajectory.objects.all()).count() == 0


@pytest.mark.parametrize(
    "query",
    [*(text[:400] for text in STORABLE), '"', '""', "AND", "NOT", "hole NOT", "NEAR(a b)", "a OR", "thoughts:hole",
     "^a", "{thoughts}", "*", "a**", "a''b", "a' | !b", "a<->b", "a:*", "\\", "'", "a\x01b", "%", "ß" * 400,
     "\ud800x", "a\0b"],
)  # fmt: skip
def test_no_query_text_causes_an_error(run: Run, saved: list[Trajectory], query: str) -> None:
    assert isinstance(found(run, query), list)


def test_operators_are_treated_as_plain_words(run: Run) -> None:
    save(run, [turn("left AND right", "Up")], [turn("left right", "Up")])
    assert found(run, "left AND right") == [0]


@pytest.mark.parametrize("query", ["***", '"…"', "- _ !"])
def test_a_query_without_letters_is_ignored_with_a_note(run: Run, saved: list[Trajectory], query: str) -> None:
    filters = read_filters({"q": query}, run_id=run.pk)
    assert not filters.active
    assert "no letters or digits" in filters.problems[0]
    assert found(run, query) == [0, 1, 2]


def test_a_long_query_is_truncated_with_a_note() -> None:
    terms = read_terms(" ".join(f"w{number}" for number in range(300)))
    assert len(terms.terms) == 20
    assert "cut" in terms.problem


def test_terms_are_words_phrases_and_prefixes() -> None:
    assert read_terms('hole "go left" sl*').terms == (
        Term(words=("hole",)), Term(words=("go", "left")), Term(words=("sl",), open_ended=True),
    )  # fmt: skip


def test_a_snippet_marks_the_words_and_names_the_turn(run: Run, saved: list[Trajectory]) -> None:
    shown = snippet(TrajectoryText.objects.get(pk=saved[0].pk), read_terms('"the goal" near'))
    assert shown is not None
    assert (shown.source, shown.turn) == ("thought", 2)
    assert [(piece.text, piece.hit) for piece in shown.pieces] == [
        ("Now ", False), ("the goal", True), (" is ", False), ("near", True),
    ]  # fmt: skip


def test_a_snippet_of_an_action_is_labelled_and_accents_are_ignored(run: Run, saved: list[Trajectory]) -> None:
    text = TrajectoryText.objects.get(pk=saved[0].pk)
    shown = snippet(text, read_terms("down"))
    assert shown is not None
    assert (shown.source, shown.turn, [piece.hit for piece in shown.pieces]) == ("action", 2, [True, False, True])
    shown = snippet(TrajectoryText.objects.get(pk=saved[2].pk), read_terms("cafe"))
    assert shown is not None
    assert [piece.text for piece in shown.pieces if piece.hit] == ["Café"]


def test_a_long_text_is_excerpted_around_its_first_match(run: Run) -> None:
    row = save(run, [turn("before " * 100 + "needle" + " after" * 100, "Up")])[0]
    shown = snippet(TrajectoryText.objects.get(pk=row.pk), read_terms("needle"))
    assert shown is not None
    whole = "".join(piece.text for piece in shown.pieces)
    assert whole.startswith("…") and whole.endswith("…") and len(whole) < 220


def test_texts_are_stored_without_characters_that_a_database_refuses() -> None:
    record = {"turns": [turn(text, text) for text in HOSTILE]}
    for text in (thoughts_of(record), actions_of(record)):
        text.encode()
        assert "\0" not in text
        assert len(text) <= 200_000
    assert thoughts_of({"turns": [turn("a\x1eb"), turn("c")]}) == f"{TURN}a\ufffdb{TURN}c"


def test_hostile_text_is_escaped(browser: Client, run: Run) -> None:
    save(run, *([turn(f"needle {text[:150]}", text[:50])] for text in STORABLE))
    page = browser.get(f"/runs/{run.pk}/trajectories/?q=needle").content.decode()
    assert "<mark>needle</mark>" in page
    assert read_page(page).dangers == []


@pytest.mark.skipif("sqlite" not in connection.settings_dict["ENGINE"], reason="plans are SQLite's")
@pytest.mark.parametrize(
    "query",
    [{"q": "hole"}, {"q": 'left "the way" sl*', "success": "yes"}, {"seed": "7"}, {"kept": "kept"}, {"success": "no"},
     {"adv_low": "0"}, {}],
)  # fmt: skip
def test_no_list_query_scans_the_whole_table(run: Run, saved: list[Trajectory], query: dict[str, str]) -> None:
    rows = read_filters(query, run_id=run.pk).apply(Trajectory.objects.filter(run=run))
    for queryset in (rows.order_by("-step", "pk")[:51], rows.order_by().values("split")):
        plan = queryset.explain()
        steps = [line for line in plan.splitlines() if "SCAN" in line and "VIRTUAL TABLE INDEX" not in line]
        assert steps == [], plan
