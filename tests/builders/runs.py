"""Runs as rows, without an engine: finished ones with curves and evaluations."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from engine.config import EnvironmentConfig, RunConfig
from engine.events import ProblemsPlayed
from engine.statistics.proportions import wilson
from webapp.environments.models import EnvironmentVersion
from webapp.evaluations.models import Evaluation
from webapp.evaluations.outcomes import save_outcomes
from webapp.runs.models import Run, StepMetrics
from webapp.runs.states import RunState


def build_run(
    *,
    name: str = "calm-otter",
    state: RunState = RunState.FINISHED,
    version: EnvironmentVersion | None = None,
    config: dict[str, Any] | None = None,
) -> Run:
    """A run of `version`, or of the default environment."""
    environments = [version.config if version else EnvironmentConfig.model_validate({}).model_dump(mode="json")]
    checked = RunConfig.model_validate({"environments": environments, **(config or {})})
    return Run.objects.create(
        name=name,
        state=state,
        preset=checked.preset,
        environment_version=version,
        config=checked.model_dump(mode="json"),
        total_steps=checked.steps,
        step=checked.steps,
    )


def add_curve(run: Run, *, steps: int = 40, rise: float = 0.3, seed: int = 1) -> None:
    """Metrics of a run whose success rises by `rise` while its entropy falls."""
    stream = random.Random(seed)
    for step in range(1, steps + 1):
        success = 0.2 + rise * (1 - math.exp(-step / 15)) + stream.gauss(0, 0.03)
        metrics = {
            "rollout/success": success,
            "reward/mean": success - 0.02,
            "policy/entropy": 1.2 * math.exp(-step / 60) + stream.gauss(0, 0.02),
            "optim/grad_norm": 0.6 + abs(stream.gauss(0, 0.2)),
        }
        StepMetrics.objects.create(
            run=run, seq=step, step=step, time=1.0 * step, tokens=9000 * step, seconds=2.1 * step, metrics=metrics
        )


def add_evaluation(
    run: Run, *, successes: int, episodes: int = 256, step: int = 60, final: bool = True, **values: Any
) -> Evaluation:
    low, high = wilson(successes, episodes)
    outcomes: str = values.pop("outcomes", "")  # a 0 or 1 for each of problems 0, 1, …
    row = Evaluation.objects.create(
        run=run,
        step=step,
        time=1.0,
        environment=values.pop("environment", run.parsed_config().environments[0].tag),
        episodes=episodes,
        successes=successes,
        success=successes / episodes,
        low=low,
        high=high,
        mean_return=successes / episodes,
        final=final,
        **{"first_seed": 1_000_000_000, "temperature": 1.0, **values},
    )
    if outcomes:
        record_outcomes(row, outcomes)
    return row


def record_outcomes(row: Evaluation, solved: str, problems: Sequence[int] = ()) -> None:
    """Outcomes of problems 0, 1, … or of those given."""
    hashes = [f"{problem:016x}" for problem in problems or range(len(solved))]
    played = ProblemsPlayed(step=row.step, environment=row.environment, final=row.final, problems=hashes, solved=solved)
    save_outcomes(row.run, played)
    row.refresh_from_db()
