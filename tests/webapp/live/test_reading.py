"""Rows as events after a cursor, and as series that keep every spike."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from engine.events import PhaseChanged, parse_payload
from tests.webapp.event_rows import add_event
from webapp.live.reading import events_after, metric_series
from webapp.runs.models import Run, RunEvent, StepMetrics

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return Run.objects.create(name="calm-otter-12", config={})


def add_phase(run: Run, seq: int) -> None:
    add_event(run, PhaseChanged(step=1, phase="rollout"), seq=seq, time=float(seq))
    Run.objects.filter(pk=run.pk).update(last_seq=seq)


def add_step(run: Run, seq: int, step: int, metrics: dict[str, float]) -> None:
    StepMetrics.objects.create(
        run=run, seq=seq, epoch=1, step=step, time=float(seq), tokens=10 * step, seconds=2.0 * step, metrics=metrics
    )
    Run.objects.filter(pk=run.pk).update(last_seq=seq)


def test_events_and_steps_form_one_sequence(run: Run) -> None:
    add_phase(run, 1)
    add_step(run, 2, 1, {"reward/mean": 0.5})
    add_phase(run, 3)
    events = events_after(run, 0)
    assert [(event["seq"], event["kind"]) for event in events] == [
        (1, "phase_changed"),
        (2, "step_completed"),
        (3, "phase_changed"),
    ]
    assert [parse_payload(event).seq for event in events] == [1, 2, 3]  # the engine's own event classes
    assert [event["seq"] for event in events_after(run, 1)] == [2, 3]
    assert events_after(run, 3) == []


def test_a_limit_returns_the_first_events_so_that_the_next_call_continues(run: Run) -> None:
    for seq in range(1, 11):
        add_phase(run, seq) if seq % 3 else add_step(run, seq, seq, {})
    seen, cursor = [], 0
    while page := events_after(run, cursor, limit=4):
        seen += [event["seq"] for event in page]
        cursor = seen[-1]
    assert seen == list(range(1, 11))


def test_rows_committed_between_two_queries_are_complete_in_the_next_read(run: Run) -> None:
    add_phase(run, 1)
    committed: list[str] = []

    def commit_after_the_first(execute: Any, sql: str, *rest: Any) -> Any:
        found = execute(sql, *rest)
        table = next((one for one in (StepMetrics, RunEvent) if f'FROM "{one._meta.db_table}"' in sql), None)
        if table is not None and not committed:
            committed.append(table.__name__)
            add_step(run, 2, 1, {})
            add_phase(run, 3)
            add_step(run, 4, 2, {})
        return found

    with connection.execute_wrapper(commit_after_the_first):
        seen = [event["seq"] for event in events_after(run, 0)]
    assert committed
    assert seen + [event["seq"] for event in events_after(run, seen[-1])] == [1, 2, 3, 4]


def test_series_are_columns_of_equal_length_with_none_for_missing_values(run: Run) -> None:
    add_step(run, 1, 1, {"reward/mean": 0.1, "eval/x/success": 0.5})
    add_step(run, 2, 2, {"reward/mean": 0.2})
    assert metric_series(run, ["reward/mean", "eval/x/success", "no/such"]) == {
        "steps": [1, 2],
        "tokens": [10, 20],
        "seconds": [2.0, 4.0],
        "times": [1.0, 2.0],
        "series": {"reward/mean": [0.1, 0.2], "eval/x/success": [0.5, None], "no/such": [None, None]},
        "last_seq": 2,
    }


def test_reading_many_keys_takes_as_many_queries_as_one(run: Run) -> None:
    names = [f"env/lake {i}/success" for i in range(40)]
    for step in (1, 2, 3):
        add_step(run, step, step, {name: step + index / 8 for index, name in enumerate(names) if (index + step) % 3})
    many = metric_series(run, names)["series"]
    assert many == {name: metric_series(run, [name])["series"][name] for name in names}
    assert many["env/lake 1/success"] == [1.125, None, 3.125]
    assert metric_series(run, [])["steps"] == [1, 2, 3]


@pytest.mark.parametrize(
    "key", ['a"b', "x\\", "'", "", "[0]", "0", "a.b", "$", "\ud800", "\0", "é" * 500, "__proto__", "%s"]
)
def test_a_hostile_key_matches_no_metric(run: Run, key: str) -> None:
    add_step(run, 1, 1, {"reward/mean": 0.1})
    assert metric_series(run, [key])["series"] == {key: [None]}


@pytest.mark.parametrize("spike_at", [1, 2, 499, 1234, 1999, 2000])
def test_downsampling_never_loses_a_spike_up_or_down(run: Run, spike_at: int) -> None:
    other = spike_at % 2000 + 1
    rows = [
        StepMetrics(
            run=run,
            seq=step,
            step=step,
            time=0.0,
            tokens=0,
            seconds=0.0,
            metrics={
                "optim/grad_norm": 1000.0 if step == spike_at else 1 + step % 7 / 10,
                "policy/entropy": -5.0 if step == other else 2 + step % 5 / 10,
            },
        )
        for step in range(1, 2001)
    ]
    StepMetrics.objects.bulk_create(rows)
    found = metric_series(run, ["optim/grad_norm", "policy/entropy"], points=100)
    assert len(found["steps"]) <= 102
    assert found["steps"][0] == 1 and found["steps"][-1] == 2000
    assert found["series"]["optim/grad_norm"][found["steps"].index(spike_at)] == 1000.0
    assert found["series"]["policy/entropy"][found["steps"].index(other)] == -5.0
    assert found["last_seq"] == 2000
