"""A run with many steps or many metrics, written straight into rows as its bridge would leave them."""

from __future__ import annotations

import math
import time
from typing import Any

from tests.builders.recorded_run import RecordedRun
from webapp.runs.models import MetricName, Run, StepMetrics

SECONDS = 2.0  # a step


def long_run(steps: int, *, spike_at: int = 0, extra: int = 0) -> RecordedRun:
    """`spike_at` is a step with a gradient norm of 900, `extra` the number of further metrics."""
    recorded = RecordedRun(steps=2 * steps, name=f"long-{steps}")
    recorded.deliver()
    begin = time.time() - SECONDS * steps
    rows = [_row(recorded, step, begin, spike_at, extra) for step in range(1, steps + 1)]
    StepMetrics.objects.bulk_create(rows, 200)
    names = {name for row in rows[-10:] for name in row.metrics}
    MetricName.objects.bulk_create(MetricName(run=recorded.run, name=name) for name in sorted(names))
    newest = rows[-1]
    fields: dict[str, Any] = {name: getattr(newest, name) for name in ("step", "metrics", "tokens", "seconds")}
    Run.objects.filter(pk=recorded.run.pk).update(last_seq=newest.seq, **fields)
    recorded.run.refresh_from_db()
    recorded.seq = newest.seq
    return recorded


def _row(recorded: RecordedRun, step: int, begin: float, spike_at: int, extra: int) -> StepMetrics:
    recorded.step = step
    metrics = recorded._metrics() | {f"env/task {n}/return": math.sin(step / 20 + n) for n in range(extra)}
    metrics["optim/grad_norm"] = 900.0 if step == spike_at else 0.8 + 0.1 * (step % 3)
    return StepMetrics(
        run=recorded.run,
        seq=step + 10,
        step=step,
        time=begin + SECONDS * step,
        tokens=9000 * step,
        seconds=1.9 * step,
        metrics=metrics,
    )
