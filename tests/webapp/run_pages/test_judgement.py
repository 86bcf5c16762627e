"""A run is judged by all of its steps, read once, and by the alerts that still say something of it."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from engine.events import RunStarted
from tests.builders.recorded_run import RecordedRun
from tests.webapp.event_rows import add_event
from tests.webapp.runs.rows import a_run
from webapp.run_pages.judgement import course, health
from webapp.runs.models import Alert, Run, StepMetrics

pytestmark = pytest.mark.django_db


def takes(run: Run, *successes: float, attempt: int = 1) -> None:
    """Further steps, as the bridge writes them."""
    rows = [
        StepMetrics(
            run=run, seq=run.last_seq + place, attempt=attempt, step=run.step + place, time=0.0, tokens=0, seconds=0.0,
            metrics={"rollout/success": one, "reward/within_group_std": 0.4, "rollout/parse_ok_rate": 1.0},
        )
        for place, one in enumerate(successes, 1)
    ]  # fmt: skip
    StepMetrics.objects.bulk_create(rows)
    Run.objects.filter(pk=run.pk).update(last_seq=rows[-1].seq, step=rows[-1].step, attempt=attempt)
    run.refresh_from_db()


def alerts(run: Run, step: int, *, attempt: int = 1, severity: str = "critical") -> None:
    Alert.objects.create(
        run=run, seq=1000 + step, step=step, time=0.0, rule="low", severity=severity, message="m",
        attempt=attempt,
    )  # fmt: skip


def test_a_collapse_is_one_however_long_ago_the_best_steps_were() -> None:
    # it began at 0.20, was at 0.80 for ten steps, and has been at 0.05 for 600: under half of its best
    run = a_run(steps=2000)
    takes(run, *[0.2] * 10, *[0.8] * 10, *[0.05] * 600)
    judged = health(run)
    assert judged["word"] == "Collapsing"
    assert "fell from 0.80 to 0.05" in judged["sentence"]
    assert "Training success 0.20 → 0.05" in judged["sentence"]


def test_step_by_step_the_judgement_is_that_of_all_steps_at_once() -> None:
    successes = [0.1, 0.9, 0.2, 0.4, 0.3, 0.5, 0.9, 0.8, 0.9, 0.7, 0.9, 0.8, 0.6, 0.7, 0.1, 0.2, 0.1, 0.0, 0.1] * 3
    slowly, at_once = a_run(steps=2000), a_run(steps=2000)
    for one in successes:
        takes(slowly, one)
        told = course(slowly)
    takes(at_once, *successes)
    assert told == course(at_once)


def test_older_steps_are_not_read_again() -> None:
    run = a_run(steps=2000)
    takes(run, *[0.5] * 300)
    course(run)
    takes(run, 0.5)
    with CaptureQueriesContext(connection) as asked:
        course(run)
    steps = [query["sql"] for query in asked if f'FROM "{StepMetrics._meta.db_table}"' in query["sql"]]
    assert len(steps) == 1
    assert '"step" > 280' in steps[0]  # the newest twenty, whose means of ten may be the best yet


def test_the_best_of_steps_that_were_taken_again_is_forgotten() -> None:
    run = a_run(steps=2000)
    takes(run, *[0.4] * 20, *[0.9] * 20)
    assert course(run).best["rollout/success"] == pytest.approx(0.9)
    run.steps.filter(step__gt=20).delete()
    started = RunStarted(step=20, total_steps=2000, pid=1, device="cpu", model="tiny", parameters=1, resumed_from=20)
    add_event(run, started, seq=99)
    Run.objects.filter(pk=run.pk).update(step=20, last_seq=99)
    run.refresh_from_db()
    takes(run, *[0.4] * 30, attempt=2)
    assert course(run).best["rollout/success"] == pytest.approx(0.4)


def test_an_alert_counts_for_fifty_steps() -> None:
    run = a_run(steps=2000)
    takes(run, *[0.2] * 10, *[0.6] * 30)
    alerts(run, 40)
    takes(run, *[0.6] * 49)
    assert health(run)["word"] == "At risk"
    assert "An alert was raised in the last 50 steps." in health(run)["sentence"]
    takes(run, 0.6)
    assert health(run)["word"] == "Learning"


def test_a_serious_alert_counts_whatever_lesser_ones_came_after_it() -> None:
    run = a_run(steps=2000)
    takes(run, *[0.2] * 10, *[0.6] * 30)
    alerts(run, 30, severity="dead")
    for step in range(31, 39):
        alerts(run, step, severity="watch")
    assert health(run)["word"] == "At risk"


def test_an_alert_of_a_step_that_was_taken_again_no_longer_counts(runs_directory: object) -> None:
    recorded = RecordedRun(steps=100)
    recorded.take_steps(30)
    recorded.raise_alert("Entropy fell to a third of its baseline.")
    recorded.deliver()
    assert health(recorded.run)["word"] == "At risk"
    recorded.resume(20)
    recorded.take_steps(20)
    recorded.deliver()
    assert "An alert was raised" not in health(recorded.run)["sentence"]
