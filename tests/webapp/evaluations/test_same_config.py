"""The step at which two runs of one configuration diverge, on hand-written steps."""

from __future__ import annotations

import pytest

from engine.events import RunStarted
from tests.webapp.event_rows import add_event
from tests.webapp.runs.rows import a_run, report
from webapp.evaluations.same_config import Difference, compare, first_difference, runs_with_same_config
from webapp.runs.models import Run
from webapp.runs.services import run_again, submit_run


def test_equal_steps_are_counted() -> None:
    steps = {1: {"reward/mean": 0.5}, 2: {"reward/mean": 0.25}}
    assert first_difference(steps, steps) == Difference(same=2)


def test_the_first_differing_step_is_reported_with_every_differing_metric() -> None:
    one = {1: {"reward/mean": 0.5}, 2: {"reward/mean": 0.5, "policy/kl": 0.1}, 3: {"reward/mean": 1.0}}
    other = {1: {"reward/mean": 0.5}, 2: {"reward/mean": 0.75, "policy/kl": 0.1}, 3: {"reward/mean": 0.0}}
    assert first_difference(one, other) == Difference(same=1, step=2, metrics=[("reward/mean", 0.5, 0.75)])


def test_the_last_digit_counts() -> None:
    assert first_difference({1: {"policy/kl": 0.3}}, {1: {"policy/kl": 0.1 + 0.2}}).step == 1  # 0.30000000000000004


def test_a_metric_that_only_one_run_has_differs() -> None:
    found = first_difference({4: {"policy/kl": 0.1}}, {4: {}})
    assert found.metrics == [("policy/kl", 0.1, None)]


def test_timing_metrics_and_missing_steps_are_not_compared() -> None:
    one = {1: {"time/step": 1.0, "system/process_memory_gb": 9.0, "reward/mean": 0.5}, 2: {"reward/mean": 0.5}}
    assert first_difference(one, {1: {"time/step": 2.0, "reward/mean": 0.5}}) == Difference(same=1)


@pytest.mark.django_db
def test_labels_are_not_part_of_the_compared_configuration() -> None:
    run = a_run()
    twin = run_again(run, None)
    sibling = run_again(run, None)
    other_seed = {**run.config, "seed": 2}
    submit_run(owner=None, config=other_seed, cloned_from=run)
    labelled = submit_run(owner=None, config={**run.config, "description": "again"}, cloned_from=run)
    assert set(runs_with_same_config(run)) == {twin, sibling, labelled}
    assert set(runs_with_same_config(twin)) == {run, sibling, labelled}


@pytest.mark.django_db
def test_possible_reasons_for_a_difference_are_noted() -> None:
    run = a_run()
    twin = run_again(run, None)
    Run.objects.filter(pk=twin.pk).update(settings_revision=1)
    twin.refresh_from_db()
    for one, device in ((run, "cpu"), (twin, "cuda")):
        report(one, 0.1)
        started = RunStarted(step=0, total_steps=9, pid=1, device=device, model="tiny", parameters=1)
        add_event(one, started, seq=9)
    pair = compare(run, twin)
    assert pair.summary == "Identical in all metrics over 1 common step."
    assert pair.notes == [
        "Settings of calm-otter-12 again were changed during the run.",
        "The runs used different devices: cpu, cuda.",
    ]
