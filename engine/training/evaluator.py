"""Held-out evaluation: one episode for each of a fixed list of seeds, success with a Wilson interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from engine.config import EnvironmentConfig, RunConfig
from engine.errors import EnvironmentFault
from engine.events import EvaluationCompleted, ProblemsPlayed
from engine.rollout.env_state_manager import EnvStateManager, EpisodeSpec
from engine.rollout.types import Trajectory
from engine.statistics.proportions import wilson
from engine.training.backend import Backend, never_cancelled
from engine.training.fault_share import require_few_faults
from engine.training.seen_problems import SeenProblems


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Result on one environment."""

    environment: str
    trajectories: list[Trajectory]
    first_seed: int
    temperature: float
    seconds: float
    seen: SeenProblems  # in training, so far

    def event(self, step: int, *, final: bool) -> EvaluationCompleted:
        """The event to record. An episode whose environment failed, or whose first prompt left no room for a response,
        is not a failure of the model and is counted only in `faults`. `EnvironmentFault` if no episode has an
        outcome."""
        played = [trajectory for trajectory in self.trajectories if trajectory.has_outcome]
        if not played:
            raise self._no_outcome()
        episodes = len(played)
        successes = sum(trajectory.success for trajectory in played)
        low, high = wilson(successes, episodes)
        return EvaluationCompleted(
            step=step,
            environment=self.environment,
            episodes=episodes,
            successes=successes,
            success=successes / episodes,
            low=low,
            high=high,
            mean_return=sum(trajectory.raw_return for trajectory in played) / episodes,
            first_seed=self.first_seed,
            temperature=self.temperature,
            seconds=self.seconds,
            faults=len(self.trajectories) - episodes,
            problems=len({trajectory.problem for trajectory in played}),
            trained_on=sum(trajectory.problem in self.seen for trajectory in played),
            final=final,
        )

    def problems_played(self, step: int, *, final: bool) -> ProblemsPlayed:
        """The outcome of each episode that counts, by its problem."""
        played = [trajectory for trajectory in self.trajectories if trajectory.has_outcome]
        return ProblemsPlayed(
            step=step,
            environment=self.environment,
            problems=[f"{trajectory.problem:016x}" for trajectory in played],
            solved="".join(str(int(trajectory.success)) for trajectory in played),
            final=final,
        )

    def _no_outcome(self) -> EnvironmentFault:
        faults = sum(bool(trajectory.fault) for trajectory in self.trajectories)
        return EnvironmentFault(
            f"None of {len(self.trajectories)} held-out episodes of {self.environment!r} has an outcome: in "
            f"{faults} the environment failed, and {len(self.trajectories) - faults} had no room for a response after "
            "their first prompt.",
            remedy="Fix the environment, and raise rollout.max_context_tokens or lower max_response_tokens.",
        )


@contextmanager
def evaluated_weights(config: RunConfig, backend: Backend, sync: Callable[[], None]) -> Iterator[None]:
    """Within it an idle backend plays with the weights that are evaluated, which `sync` gives to its samplers. An error
    ends the attempt, so afterwards only the learner needs its own weights back."""
    if config.evaluation.weights == "current":
        yield
        return
    backend.swap_weights()
    try:
        sync()
        yield
    finally:
        backend.swap_weights()
    sync()


def evaluate(
    backend: Backend,
    manager: EnvStateManager,
    environment: EnvironmentConfig,
    config: RunConfig,
    *,
    episodes: int,
    seen: SeenProblems,
    check_cancelled: Callable[[], None] = never_cancelled,
) -> Evaluation:
    """Plays held-out problems `first_seed`, `first_seed + 1`, … once each, `episodes_at_once` at a time, with the same
    sampling seeds every time.

    `EnvironmentFault` when too many end with one."""
    settings = config.evaluation
    started = time.monotonic()
    specs = manager.held_out_batch(environment, first_seed=settings.first_seed, episodes=episodes)
    trajectories: list[Trajectory] = []
    for part, some in enumerate(_parts(specs, settings.episodes_at_once or episodes)):
        seeds = [settings.first_seed, 2, *([part] if part else [])]
        played, _ = backend.play(some, temperature=settings.temperature, seeds=seeds, check_cancelled=check_cancelled)
        trajectories += played
    require_few_faults(
        trajectories, share=config.stop.fault_share, what=f"the held-out evaluation of {environment.tag!r}"
    )
    return Evaluation(
        environment=environment.tag,
        trajectories=trajectories,
        first_seed=settings.first_seed,
        temperature=settings.temperature,
        seconds=time.monotonic() - started,
        seen=seen,
    )


def _parts(specs: Sequence[EpisodeSpec], size: int) -> Iterator[list[EpisodeSpec]]:
    rest = iter(specs)
    while some := list(islice(rest, size)):
        yield some
