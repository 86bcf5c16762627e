"""Runs as rows, made without a worker."""

from __future__ import annotations

import time

from engine.config import EnvironmentConfig, RunConfig
from webapp.runs.metric_ranges import measure_again
from webapp.runs.models import Run, StepMetrics
from webapp.runs.states import RunState
from webapp.runs.verdicts import reassess


def a_run(name: str = "calm-otter-12", state: RunState = RunState.RUNNING, *, steps: int = 60) -> Run:
    config = RunConfig(environments=[EnvironmentConfig(kind="bandit")], steps=steps)
    return Run.objects.create(name=name, state=state, config=config.model_dump(mode="json"), total_steps=steps)


def fault(**changes: object) -> dict[str, object]:
    """One of a run's `faults`, as its supervisor writes it."""
    known = {"time": time.time(), "attempt": 1, "step": 12, "reason": "It was killed by signal 9 (SIGKILL)."}
    return {**known, "restart": 1, "budget": 3, "fruitless": 0, **changes}


def report(run: Run, *successes: float) -> None:
    """A step for each success, and the run's row as the bridge leaves it, verdict included."""
    for step, success in enumerate(successes, start=1):
        metrics = {"rollout/success": success, "reward/within_group_std": 0.4, "rollout/parse_ok_rate": 1.0}
        StepMetrics.objects.create(
            run=run, seq=step, step=step, time=time.time(), tokens=100 * step, seconds=2.0 * step, metrics=metrics
        )
        Run.objects.filter(pk=run.pk).update(step=step, last_seq=step, seconds=2.0 * step, metrics=metrics)
    measure_again(run)
    run.refresh_from_db()
    reassess(run)
    run.refresh_from_db()
