"""Adaptive search and pruning on rows of runs: what is proposed, when, and what ends early."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from engine.sweeps.plan import SweepPlan
from tests.webapp.sweeps.sweeping import BASE, a_sweep, end, queued
from tests.webapp.sweeps.test_pages import form, text_of
from webapp.runs.models import Run, StepMetrics
from webapp.runs.states import RunState
from webapp.sweeps.advancing import advance_all
from webapp.sweeps.models import Sweep, SweepState
from webapp.sweeps.proposals import tried_of
from webapp.sweeps.results import SweepResults
from webapp.sweeps.services import Refused, extend, resume

pytestmark = pytest.mark.django_db

RATE = {"type": "range", "field": "optimizer.learning_rate", "low": 1e-5, "high": 1e-2, "scale": "log"}
PRUNING = {"first": 2, "every": 2, "fewest": 2}


def adaptive(user: User | None = None, **plan: Any) -> Sweep:
    given = {"axes": [RATE], "method": "tpe", "points": 12, "seeds": [1], **plan}
    return a_sweep(user, at_once=2, plan=given)


def train(run: Run, success: float, steps: int = 2) -> None:
    """As a run that goes on."""
    StepMetrics.objects.bulk_create(
        StepMetrics(run=run, seq=step, step=step, time=1.0, tokens=1, seconds=1.0, metrics={"rollout/success": success})
        for step in range(run.step + 1, run.step + steps + 1)
    )
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING, step=run.step + steps, total_steps=4)


def finish_as_they_come(sweep: Sweep, limit: int = 100) -> None:
    """Each with more successes for a smaller learning rate."""
    for _ in range(limit):
        if not (runs := queued(sweep)):
            break
        for run in runs:
            rate = run.config["optimizer"]["learning_rate"]
            end(run, RunState.FINISHED, successes=max(0, 90 - int(rate * 9000)))
            Run.objects.filter(pk=run.pk).update(finished_at=timezone.now())
        advance_all()
    sweep.refresh_from_db()


def test_a_search_trains_as_many_configurations_as_planned_and_proposes_them_from_results(user: User) -> None:
    sweep = adaptive(user)
    assert sweep.planned.count() == 10  # before there are results
    assert SweepResults(sweep).counts()["total"] == 12
    finish_as_they_come(sweep)
    assert sweep.planned.count() == 12 and sweep.state == SweepState.FINISHED
    tried = tried_of(sweep)
    assert {one.state for one in tried} == {"complete"}
    values = [one.value for one in tried if one.value is not None]
    history = SweepResults(sweep).improvements()
    assert history[-1].value == max(values) and history[0].number == 1


def test_a_configuration_s_value_is_the_mean_over_its_seeds_and_all_of_them_come_first(user: User) -> None:
    sweep = adaptive(user, seeds=[1, 2])
    first, second = queued(sweep)
    assert [run.config["seed"] for run in (first, second)] == [1, 2]
    assert first.config["optimizer"] == second.config["optimizer"]
    end(first, RunState.FINISHED, successes=20)
    assert tried_of(sweep)[0].state == "running"
    end(second, RunState.FINISHED, successes=50)
    first_tried = tried_of(sweep)[0]
    assert first_tried.state == "complete" and first_tried.value == pytest.approx(0.35)


def test_a_search_is_extended_by_configurations_and_seeds_and_keeps_its_axes(user: User) -> None:
    sweep = adaptive(user, points=4)
    finish_as_they_come(sweep)
    assert sweep.state == SweepState.FINISHED and sweep.planned.count() == 4
    assert extend(sweep, lambda plan: {**plan.model_dump(), "points": 6}) == 2
    finish_as_they_come(sweep)
    assert sweep.planned.count() == 6
    assert extend(sweep, lambda plan: {**plan.model_dump(), "seeds": [1, 2]}) == 6
    assert extend(sweep, SweepPlan.model_dump) == 0
    with pytest.raises(Refused, match="keeps its axes"):
        extend(sweep, lambda plan: {**plan.model_dump(), "axes": [{**RATE, "high": 1.0}]})


def test_a_run_below_the_median_ends_as_pruned_and_says_why(user: User) -> None:
    sweep = a_sweep(user, at_once=3, plan={
        "axes": [RATE], "method": "random", "points": 3, "seeds": [1, 2], "pruning": PRUNING,
    })  # fmt: skip
    worst, *others = queued(sweep)
    train(worst, 0.1)
    for run in others:
        train(run, 0.5)
    advance_all()
    worst.refresh_from_db()
    # two others at step 2, both with 0.5
    reason = "Below the median of 2 at step 2: training success 0.10 against 0.50 (seed 1, mean of the last 2 steps)."
    assert (worst.state, worst.requested) == (RunState.STOPPING, "stop")
    assert worst.pruned == worst.state_reason == f"Ended by its sweep. {reason}"
    rows = sweep.planned.filter(point_key=sweep.planned.get(run=worst).point_key)
    assert [row.pruned for row in rows] == [reason, reason]  # seed 2 is not trained either
    Run.objects.filter(pk=worst.pk).update(state=RunState.STOPPED)
    worst.refresh_from_db()
    assert worst.shown_as == "pruned"
    for run in others:
        end(run, RunState.FINISHED, successes=50)
    advance_all()
    assert {run.config["seed"] for run in queued(sweep)} == {2} and len(queued(sweep)) == 2
    for run in queued(sweep):
        end(run, RunState.FINISHED, successes=50)
    advance_all()
    sweep.refresh_from_db()
    counts = SweepResults(sweep).counts()
    assert sweep.state == SweepState.FINISHED
    assert (counts["total"], counts["pruned"], counts["finished"], counts["ended"]) == (5, 1, 4, 5)
    with pytest.raises(Refused):
        resume(sweep)


def test_a_run_past_its_last_step_keeps_its_final_evaluation_and_only_other_seeds_are_pruned(user: User) -> None:
    sweep = a_sweep(user, at_once=3, plan={
        "axes": [RATE], "method": "random", "points": 3, "seeds": [1, 2], "pruning": PRUNING,
    })  # fmt: skip
    worst, *others = queued(sweep)
    train(worst, 0.1, steps=4)
    for run in others:
        train(run, 0.5, steps=4)
    advance_all()
    worst.refresh_from_db()
    assert (worst.state, worst.requested, worst.pruned) == (RunState.RUNNING, "run", "")
    assert {row.seed: bool(row.pruned) for row in sweep.planned.filter(point_key=worst.planned.point_key)} == {
        1: True,
        2: True,
    }
    end(worst, RunState.FINISHED, successes=10)
    assert SweepResults(sweep).counts()["finished"] == 1


def test_with_one_seed_nothing_is_pruned_at_the_last_step(user: User) -> None:
    sweep = a_sweep(user, at_once=3, plan={
        "axes": [RATE], "method": "random", "points": 3, "seeds": [1], "pruning": PRUNING,
    })  # fmt: skip
    worst, *others = queued(sweep)
    for run in (worst, *others):
        train(run, 0.1 if run == worst else 0.5, steps=4)
    advance_all()
    assert set(sweep.planned.values_list("pruned", flat=True)) == {""}


def test_a_collapsed_run_ends_its_configuration_and_an_adaptive_search_knows_it(user: User) -> None:
    sweep = adaptive(user, seeds=[1, 2], pruning=PRUNING)
    first, second = queued(sweep)
    train(first, 0.2)
    train(second, 0.2)
    Run.objects.filter(pk=second.pk).update(verdict={"label": "collapsed"})
    advance_all()
    first.refresh_from_db()
    assert first.pruned == "Ended by its sweep. The run with seed 2 collapsed."
    tried = tried_of(sweep)[0]
    assert tried.state == "pruned" and tried.by_step == {2: pytest.approx(0.2)}


def test_the_form_launches_an_adaptive_search_with_pruning_and_its_page_shows_it(browser: Client) -> None:
    rate = {"field": "optimizer.learning_rate", "type": "range", "low": "1e-5", "high": "1e-2", "scale": "log"}
    given = form(
        rate, method="tpe", points="11", seeds="1", objective="mean_return", prune_median="on", prune_first="3"
    )
    assert "The first 10 configurations are below; the other 1 are chosen from the results" in text_of(
        browser.post("/sweeps/check/", given)
    )
    assert browser.post("/sweeps/new/", given).status_code == 302
    sweep = Sweep.objects.get()
    plan = sweep.parsed_plan()
    assert (plan.method, plan.points, plan.objective) == ("tpe", 11, "mean_return")
    assert plan.pruning is not None and (plan.pruning.first, plan.pruning.collapse) == (3, False)
    finish_as_they_come(sweep)
    page = text_of(browser.get(f"/sweeps/{sweep.pk}/"))
    assert "Adaptive search of 11 configurations over optimizer.learning_rate" in page
    assert "History of the best" in page and "Held-out return after the last step" in page
    again = browser.get(f"/sweeps/new/?sweep={sweep.pk}").content.decode()
    assert 'name="prune_median" checked' in again and 'name="prune_first" value="3"' in again


@pytest.mark.parametrize(
    ("axis", "base"),
    [
        ({"field": "environments.0.kind", "values": "antigravity:Environment"}, {}),
        ({"field": "steps", "values": "4"}, {"environments": [{"kind": "antigravity:Environment", "tag": "x"}]}),
        ({"field": "steps", "values": "4"},
         {"environments": [{"kind": "http", "tag": "x", "parameters": {"url": "http://10.0.0.1/"}}]}),
    ],
)  # fmt: skip
def test_what_only_administrators_configure_is_refused_in_a_sweep(
    axis: dict[str, str], base: dict[str, Any], browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "antigravity", None)  # its import would fail with another error
    data = form(axis, base=json.dumps({**BASE.model_dump(mode="json"), **base}))
    answer = browser.post("/sweeps/new/", data)
    assert answer.status_code == 422 and "Only an administrator may configure this." in text_of(answer)
    assert Sweep.objects.count() == 0
