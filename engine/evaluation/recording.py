"""An evaluation of a run's checkpoint as events of that run (`engine evaluate --record`)."""

from __future__ import annotations

from pathlib import Path

from engine.config import RunConfig
from engine.errors import ConfigError, EnvironmentFault
from engine.evaluation.evaluation import Outcome, Plan
from engine.evaluation.results import Result
from engine.events import CheckpointEvaluated, ProblemsPlayed
from engine.statistics.proportions import wilson
from engine.training.requested_evaluations import hand_over


def checkpoint_step(model: str, run_directory: str | None) -> int:
    """The step of the checkpoint whose `model` is evaluated; `ConfigError` if it is not one of the run."""
    name = Path(model).resolve().parent
    digits = name.name.removeprefix("step_")
    if run_directory is None or name.parent != Path(run_directory).resolve() / "checkpoints" or not digits.isdigit():
        raise ConfigError(
            f"--record adds results to the run of a checkpoint, and {model} is not in the checkpoints of a given run.",
            remedy="Give the run directory as the source, and one of its checkpoints/step_<n> as --model.",
        )
    return int(digits)


def require_recordable(plan: Plan, config: RunConfig) -> None:
    """`ConfigError` for a plan whose results could not stand beside those of the trainer."""
    own = [config.evaluation.temperature]
    if plan.samples > 1 or plan.temperatures != own or plan.seeds[0] != config.evaluation.first_seed:
        raise ConfigError(
            "--record takes one sample of the run's own held-out problems at its own temperature.",
            remedy="Leave out --samples, --temperature and --seeds; --episodes sets how many problems.",
        )


def record(outcome: Outcome, *, step: int, run_directory: Path) -> None:
    """Adds the results to the events of the run. `EnvironmentFault` if an environment has none."""
    by_environment = {
        environment.tag: [result for result in outcome.results if result.environment == environment.tag]
        for environment in outcome.plan.environments
    }
    events = [_events(results, outcome.plan, step) for results in by_environment.values()]
    hand_over(run_directory, [event for both in events for event in both])


def _events(results: list[Result], plan: Plan, step: int) -> tuple[CheckpointEvaluated, ProblemsPlayed]:
    environment = results[0].environment
    scored = [result for result in results if result.scored]
    if not scored:
        raise EnvironmentFault(
            f"None of {len(results)} held-out episodes of {environment!r} has a score: {results[0].error}",
            remedy="Fix the environment, then evaluate again.",
        )
    successes = sum(bool(result.success) for result in scored)
    low, high = wilson(successes, len(scored))
    evaluated = CheckpointEvaluated(
        step=step,
        environment=environment,
        episodes=len(scored),
        successes=successes,
        success=successes / len(scored),
        low=low,
        high=high,
        mean_return=sum(result.raw_return or 0.0 for result in scored) / len(scored),
        first_seed=plan.seeds[0],
        temperature=plan.temperatures[0],
        seconds=max(result.seconds for result in results),  # they are played at once
        faults=len(results) - len(scored),
        problems=len({result.problem for result in scored}),
        trained_on=sum(bool(result.trained_on) for result in scored),
    )
    played = ProblemsPlayed(
        step=step,
        environment=environment,
        problems=[result.problem for result in scored],
        solved="".join(str(int(bool(result.success))) for result in scored),
        requested=True,
    )
    return evaluated, played
