"""What the comparison of trajectories with MLflow's traces asks for, and how it compares the answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from benchmarks.trajectories_against_mlflow import ASKED, as_rows, durations, numbers, same_rows
from benchmarks.trajectory_list import fill


def ours(*rows: tuple[int, int]) -> str:
    """An answer of ours with (id, tokens)."""
    return json.dumps({"trajectories": [{"id": pk, "response_tokens": tokens} for pk, tokens in rows]})


def theirs(*rows: tuple[int, str]) -> str:
    """An answer of MLflow's with (number of the trace, duration)."""
    return json.dumps(
        {"traces": [{"trace_id": f"tr-{number:032x}", "execution_duration": length} for number, length in rows]}
    )


def test_rows_are_compared_by_their_distance_from_the_first() -> None:
    assert numbers(ours((51, 9), (49, 8))) == numbers(theirs((50, "1s"), (48, "1s"))) == [0, 2]
    same_rows("newest", ours((51, 9), (49, 8)), theirs((50, "1s"), (48, "1s")))
    with pytest.raises(SystemExit, match="newest: the rows differ, ours are"):
        same_rows("newest", ours((51, 9), (49, 8)), theirs((50, "1s"), (49, "1s")))


def test_sorted_rows_are_compared_by_what_they_are_sorted_by() -> None:
    assert durations(theirs((7, "0.399s"), (3, "2s"))) == [399, 2000]
    same_rows("sorted", ours((1, 399), (2, 398)), theirs((9, "0.399s"), (0, "0.398s")))
    with pytest.raises(SystemExit, match="sorted: the rows differ"):
        same_rows("sorted", ours((1, 399), (2, 398)), theirs((9, "0.399s"), (0, "0.397s")))


@pytest.mark.django_db
def test_page_and_api_have_the_rows_that_mlflow_is_given(client: Client) -> None:
    run = fill("bench", 240)
    given = list(as_rows(run))
    client.force_login(User.objects.create_user("bench"))
    for name, asked in ASKED.items():
        expected = [row["id"] for row in reversed(given) if matches(row, name)]
        listed = client.get(f"/api/v1/runs/{run.pk}/trajectories?limit=500&preview=1&{asked.api}").json()
        page = client.get(f"/runs/{run.pk}/trajectories/?{asked.page}")
        assert page.status_code == 200
        if name == "sorted":
            tokens = sorted((row["tokens"] for row in given), reverse=True)
            assert [row["response_tokens"] for row in listed["trajectories"]] == tokens
        else:
            first = run.trajectories.order_by("pk")[0].pk
            assert [f"tr-{row['id'] - first:032x}" for row in listed["trajectories"]] == expected, name
            assert page.context["counts"].total == len(expected), name
    [newest] = client.get(f"/api/v1/runs/{run.pk}/trajectories?limit=1&preview=1").json()["trajectories"]
    assert newest["preview"].replace("\n\n", "\x1e") == given[-1]["text"].strip("\x1e")[:999]


def matches(row: dict[str, Any], name: str) -> bool:
    """By what MLflow's search of that name asks for."""
    lost, words = row["tags"]["success"] == "no", row["text"].split()
    return {
        "filtered": lost and row["tags"]["kept"] == "kept",
        "common_word": any(word.strip("\x1e") == "hole" for text in words for word in text.split("\x1e")),
        "rare_word": "needle" in words,
        "word_and_filter": lost and "needle" in words,
    }.get(name, True)
