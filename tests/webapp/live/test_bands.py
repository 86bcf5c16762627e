"""Metrics in buckets for charts: no spike is lost, a window has finer buckets, and time continues across attempts."""

from __future__ import annotations

import pytest

from engine.events import AlertRaised
from tests.builders.recorded_run import RecordedRun
from tests.webapp.event_rows import add_event
from webapp.live.bands import elapsed_seconds, metric_bands, spans_of
from webapp.live.outline import metric_names, outline
from webapp.runs.models import MetricName, Run, StepMetrics

pytestmark = pytest.mark.django_db
NORM, ENTROPY = "optim/grad_norm", "policy/entropy"


@pytest.fixture
def run() -> Run:
    return Run.objects.create(name="calm-otter-12", config={})


def take_steps(run: Run, count: int, *, spike_at: int = 0) -> None:
    rows = [
        StepMetrics(
            run=run, seq=step, step=step, time=2.0 * step, tokens=10 * step, seconds=1.0 * step,
            metrics={NORM: 1000.0 if step == spike_at else 1.0} | ({ENTROPY: -1.0 * step} if step % 5 == 0 else {}),
        )
        for step in range(1, count + 1)
    ]  # fmt: skip
    StepMetrics.objects.bulk_create(rows)


def test_a_short_run_is_sent_unchanged(run: Run) -> None:
    take_steps(run, 5, spike_at=2)
    found = metric_bands(run, [NORM, ENTROPY, "no/such"], 10)
    assert (found["steps"], found["tokens"], found["seconds"]) == (
        [1, 2, 3, 4, 5],
        [10, 20, 30, 40, 50],
        [1, 2, 3, 4, 5],
    )
    assert (found["thinned"], found["last_seq"]) == (False, 5)
    none: list[float | None] = []
    empty = {"low": none, "high": none, "low_at": none, "high_at": none}
    assert found["series"] == {
        NORM: {"mean": [1, 1000, 1, 1, 1], **empty},
        ENTROPY: {"mean": [None, None, None, None, -5], **empty},
        "no/such": {"mean": [None] * 5, **empty},
    }


def test_a_bucket_has_its_mean_its_extremes_and_their_steps(run: Run) -> None:
    take_steps(run, 20, spike_at=7)
    found = metric_bands(run, [NORM, ENTROPY], 2)  # steps 1 to 10 and 11 to 20
    assert (found["steps"], found["thinned"]) == ([10, 20], True)
    # (9 * 1 + 1000) / 10 = 100.9
    norm = {"mean": [100.9, 1.0], "low": [1.0, 1.0], "high": [1000.0, 1.0], "low_at": [1, 11], "high_at": [7, 20]}
    # -5 and -10, then -15 and -20
    entropy = {"mean": [-7.5, -17.5], "low": [-10, -20], "high": [-5, -15], "low_at": [10, 20], "high_at": [5, 15]}
    assert found["series"] == {NORM: norm, ENTROPY: entropy}


@pytest.mark.parametrize("spike_at", [1, 2, 299, 1234, 2499, 2500])
def test_a_spike_at_one_step_is_never_lost(run: Run, spike_at: int) -> None:
    take_steps(run, 2500, spike_at=spike_at)
    band = metric_bands(run, [NORM], 60)["series"][NORM]
    assert len(band["mean"]) == 60
    assert band["high_at"][band["high"].index(1000.0)] == spike_at


def test_a_window_has_its_own_buckets(run: Run) -> None:
    take_steps(run, 1000)
    wide = metric_bands(run, [NORM], 10, first=101, last=200)
    assert (wide["steps"], wide["thinned"]) == (list(range(110, 201, 10)), True)
    close = metric_bands(run, [NORM], 10, first=101, last=110)
    assert (close["steps"], close["thinned"]) == (list(range(101, 111)), False)
    assert metric_bands(run, [NORM], 10, first=2000)["steps"] == []


def diagnose(run: Run, count: int, *, every: int) -> None:
    """Steps of two seconds each; at 1, 1 + every, … the entropy is minus the step."""
    rows = [
        StepMetrics(
            run=run, seq=step, step=step, time=2.0 * step, tokens=10 * step, seconds=1.0 * step,
            metrics={NORM: 1.0} | ({ENTROPY: -1.0 * step} if (step - 1) % every == 0 else {}),
        )
        for step in range(1, count + 1)
    ]  # fmt: skip
    StepMetrics.objects.bulk_create(rows)


def test_sparse_metrics_have_the_steps_at_which_they_were_measured(run: Run) -> None:
    diagnose(run, 6000, every=5)
    found = metric_bands(run, [ENTROPY], 5000, having=[ENTROPY, "no/such"])
    assert found["steps"] == list(range(1, 6000, 5))
    assert found["series"][ENTROPY]["mean"] == [-1.0 * step for step in range(1, 6000, 5)]
    assert (found["thinned"], found["spans"]) == (False, [(1, 5996, 5)])
    # the clock runs between them too: two seconds per step, from the first
    assert found["elapsed"][:3] == [0.0, 10.0, 20.0]
    buckets = metric_bands(run, [ENTROPY], 600)  # they end at multiples of ten, where nothing was measured
    assert set(buckets["steps"]).isdisjoint(found["steps"])


def test_too_many_measured_steps_are_sampled_with_their_own_values(run: Run) -> None:
    diagnose(run, 40, every=5)  # 1, 6, 11, 16, 21, 26, 31, 36
    found = metric_bands(run, [ENTROPY], 4, having=[ENTROPY])
    assert (found["steps"], found["thinned"]) == ([6, 16, 26, 36], True)
    assert found["series"][ENTROPY]["mean"] == [-6, -16, -26, -36]
    assert found["series"][ENTROPY]["high"] == [-1, -11, -21, -31]


def test_sparse_metrics_take_a_constant_number_of_queries(run: Run) -> None:
    diagnose(run, 20, every=5)
    names = [ENTROPY, *(f"collapse/{i}" for i in range(20))]
    assert metric_bands(run, names, 600, having=[ENTROPY])["steps"] == [1, 6, 11, 16]
    assert metric_bands(run, [ENTROPY], 600, having=["no/such"])["steps"] == []
    assert metric_bands(run, [ENTROPY], 600, having=["a\0b"])["steps"] == []


def test_steps_are_sent_as_spans() -> None:
    assert spans_of([]) == []
    assert spans_of([7]) == [(7, 7, 1)]
    assert spans_of([1, 6, 11]) == [(1, 11, 5)]
    assert spans_of([1, 6, 11, 20, 21, 22, 40]) == [(1, 11, 5), (20, 22, 1), (40, 40, 1)]


def test_reading_many_metrics_takes_as_many_queries_as_one(run: Run) -> None:
    names = [f"env/lake {i}/success" for i in range(20)]
    for step in (1, 2, 3):
        metrics = {name: step + index / 8 for index, name in enumerate(names) if (index + step) % 3}
        StepMetrics.objects.create(run=run, seq=step, step=step, time=0, tokens=0, seconds=0, metrics=metrics)
    many = metric_bands(run, names)["series"]
    assert many == {name: metric_bands(run, [name])["series"][name] for name in names}


def test_elapsed_time_excludes_gaps_between_attempts() -> None:
    # attempt 1 starts at 0 and is done with step 2 at 20; attempt 2 starts at 100
    assert elapsed_seconds([10, 20, 105, 110], [1, 1, 2, 2], {1: 0, 2: 100}).tolist() == [10, 20, 25, 30]
    # without an event of its start a run begins with its first step
    assert elapsed_seconds([10, 20], [1, 1], {}).tolist() == [0, 10]


def test_the_outline_of_a_long_run_is_small_and_lists_every_metric(settings: object, tmp_path: object) -> None:
    settings.RUNS_DIR = tmp_path  # type: ignore[attr-defined]
    recorded = RecordedRun(steps=200)
    recorded.take_steps(150)
    recorded.raise_alert("Entropy fell.")
    recorded.deliver()
    found = outline(recorded.run)
    kinds = [event["kind"] for event in found["events"]]
    assert [event["seq"] for event in found["events"]] == sorted(event["seq"] for event in found["events"])
    # the newest sixty steps, one phase of the 150, fifteen evaluations, one alert, and the start
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "step_completed": 60, "phase_changed": 1, "evaluation_completed": 15, "alert_raised": 1, "run_started": 1,
    }  # fmt: skip
    newest = next(event for event in reversed(found["events"]) if event["kind"] == "step_completed")
    assert set(newest["metrics"]) == {"time/rollout", "time/update", "time/capture", "time/step", "time/diagnostics"}
    # of every fifth step
    assert "collapse/mi_ratio" in found["keys"]
    assert found["last_seq"] == recorded.run.last_seq
    assert set(found["keys"]) == set(MetricName.objects.values_list("name", flat=True))


def test_metrics_without_a_name_row_are_still_found(run: Run) -> None:
    run.metrics = {"reward/mean": 0.5}
    assert metric_names(run) == ["reward/mean"]


def test_an_outline_ends_at_the_row_it_was_requested_for(run: Run) -> None:
    for seq in (1, 2):
        alert = AlertRaised(step=1, rule="low", severity="warn", message="m", metric="x", value=0.0)
        add_event(run, alert, seq=seq)
    run.last_seq = 1
    assert [event["seq"] for event in outline(run)["events"]] == [1]
