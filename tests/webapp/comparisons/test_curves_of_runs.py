"""Curves of several runs come in one answer, with the numbers of each run's own."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.recorded_run import RecordedRun
from tests.builders.runs import build_run
from webapp.comparisons.first_curves import first_curves
from webapp.comparisons.selection import MOST_RUNS
from webapp.runs.models import Run
from webapp.runs.states import RunState


@pytest.fixture
def browser(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


def recorded(*lengths: int) -> list[Run]:
    runs = [RecordedRun(name=f"run {index}") for index in range(len(lengths))]
    for run, steps in zip(runs, lengths, strict=True):
        run.take_steps(steps)
        run.deliver()
    return [one.run for one in runs]


def ended(step: int) -> Run:
    run = build_run(state=RunState.FINISHED)
    run.step = step
    return run


def get(browser: Client, path: str, **query: object) -> Any:
    answer = browser.get(f"/api/v1/{path}", query or None)
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.parametrize("window", [{}, {"from": 3, "to": 9}, {"having": "rollout/success"}])
def test_bands_are_those_of_each_run(browser: Client, window: dict[str, object]) -> None:
    runs = recorded(30, 7, 1)
    query = {"keys": "rollout/success,policy/entropy,no/such", "buckets": 4, **window}
    together = get(browser, "bands", runs=",".join(run.pk for run in runs), **query)["runs"]
    assert together == {run.pk: get(browser, f"runs/{run.pk}/bands", **query) for run in runs}
    assert together[runs[0].pk]["thinned"]


def test_outlines_are_those_of_each_run(browser: Client) -> None:
    runs = recorded(30, 7)
    together = get(browser, "outlines", runs=",".join(run.pk for run in runs))["runs"]
    assert together == {run.pk: get(browser, f"runs/{run.pk}/outline") for run in runs}


@pytest.mark.parametrize("path", ["bands?keys=rollout/success&", "outlines?"])
def test_a_run_that_was_deleted_leaves_the_others(browser: Client, path: str) -> None:
    (run,) = recorded(3)
    assert list(get(browser, f"{path}runs=gone,{run.pk},{run.pk}")["runs"]) == [run.pk]


def test_an_answer_is_limited(browser: Client) -> None:
    (run,) = recorded(1)
    many = ",".join(f"r{number}" for number in range(MOST_RUNS + 1))
    assert browser.get("/api/v1/bands", {"runs": many, "keys": "a"}).status_code == 400
    assert browser.get("/api/v1/outlines", {"runs": many}).status_code == 400
    assert get(browser, "bands", runs=run.pk, keys="a", buckets=5000)
    refused = browser.get("/api/v1/bands", {"runs": many.rpartition(",")[0], "keys": "a,b,c,d,e", "buckets": 5000})
    assert refused.status_code == 400
    assert "50 runs, 5 metrics and 5000 buckets are 1,250,000 values" in refused.content.decode()


@pytest.mark.django_db
def test_the_page_loads_ended_runs_together_and_long_ones_with_fewer_buckets() -> None:
    short = [ended(100) for _ in range(4)]
    long, live = ended(2001), build_run(state=RunState.RUNNING)
    ids = ",".join(run.pk for run in short[1:])
    assert first_curves([*short, long, live], ["a/b", "c"], {short[0].pk}) == [
        f"/api/v1/bands?runs={ids}&keys=a%2Fb,c&buckets=2000",
        f"/api/v1/bands?runs={long.pk}&keys=a%2Fb,c&buckets=300",
    ]


@pytest.mark.django_db
def test_of_many_metrics_a_request_has_fewer_runs() -> None:
    # 24 metrics of 2,000 ranges are 48,000 values: 20 runs are 960,000
    runs = [ended(100) for _ in range(45)]
    found = first_curves(runs, [f"m{number}" for number in range(24)], ())
    assert [address.partition("&")[0].count(",") + 1 for address in found] == [20, 20, 5]
