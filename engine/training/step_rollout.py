"""The rollout of a step: its groups, refills for groups with equal returns, and greedy baseline episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean

from engine.config import RunConfig
from engine.errors import ConfigError, EnvironmentFault, EnvironmentUnavailable
from engine.rollout.env_state_manager import EnvStateManager, EpisodeSpec
from engine.rollout.types import Trajectory
from engine.training.backend import Backend, never_cancelled
from engine.training.fault_share import require_few_faults
from engine.training.rollout_metrics import group_stds

TRAINING_STREAM = 1
EQUAL = 1e-9


@dataclass(slots=True, kw_only=True)
class StepRollout:
    """`baselines` are greedy scores by group, of remax alone; `sampled` counts tokens, theirs included."""

    trajectories: list[Trajectory]
    sampled: int
    baselines: dict[int, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)


def roll_out_step(
    backend: Backend,
    manager: EnvStateManager,
    config: RunConfig,
    step: int,
    *,
    check_cancelled: Callable[[], None] = never_cancelled,
) -> StepRollout:
    """All trajectories of a step, refills included; each group has its own number. `EnvironmentFault` when too many of
    them ended with one."""

    def play(specs: list[EpisodeSpec], seeds: list[int]) -> tuple[list[Trajectory], int]:
        return backend.play(specs, temperature=config.rollout.temperature, seeds=seeds, check_cancelled=check_cancelled)

    specs = manager.training_batch(step)
    trajectories, sampled = play(specs, [config.seed, step, TRAINING_STREAM])
    found = StepRollout(trajectories=trajectories, sampled=sampled)
    refilled, newest = 0, trajectories
    for draw in range(1, config.rollout.refill + 1):
        indices = _without_variance(newest, config.rollout.groups)
        if not indices:
            break
        refills = manager.refill_batch(step, draw=draw, indices=indices)
        try:
            newest, sampled = play(refills, [config.seed, step, TRAINING_STREAM, draw])
        except EnvironmentUnavailable:
            raise
        except (EnvironmentFault, ConfigError):  # all of them failed, or no prompt fits
            break
        specs = specs + refills
        refilled += len(indices)
        found.trajectories = found.trajectories + newest
        found.sampled += sampled
    require_few_faults(found.trajectories, share=config.stop.fault_share, what=f"step {step}")
    if config.rollout.refill:
        found.metrics["filter/refilled_groups"] = float(refilled)
    if config.algorithm.greedy_baseline:
        found.baselines, sampled = greedy_baselines(backend, specs, found.trajectories, check_cancelled=check_cancelled)
        found.sampled += sampled
        found.metrics["reward/greedy"] = fmean(found.baselines.values()) if found.baselines else 0.0
    return found


def greedy_baselines(
    backend: Backend,
    specs: list[EpisodeSpec],
    trajectories: list[Trajectory],
    *,
    check_cancelled: Callable[[], None] = never_cancelled,
) -> tuple[dict[int, float], int]:
    """Score of one greedy episode for each group of `specs`, and the tokens that were sampled for them.

    Each meets the problem with the chance seed of the group's first member: chance does not depend on the policy, so a
    baseline may depend on it. A group whose greedy episode fails has the mean score of its trajectories.
    """
    chosen = list({spec.group: spec for spec in reversed(specs)}.values())
    try:
        played, sampled = backend.play(chosen, temperature=0.0, seeds=[0], check_cancelled=check_cancelled)
    except EnvironmentUnavailable:
        raise
    except EnvironmentFault:
        played, sampled = [], 0
    scores: dict[int, list[float]] = {}
    for trajectory in trajectories:
        if trajectory.has_outcome:
            scores.setdefault(trajectory.group, []).append(trajectory.score)
    baselines = {group: fmean(values) for group, values in scores.items()}
    baselines |= {greedy.group: greedy.score for greedy in played if greedy.has_outcome}
    return baselines, sampled


def _without_variance(trajectories: list[Trajectory], groups: int) -> list[int]:
    """Indices, in the layout of a step of `groups`, of the groups whose returns are known and all equal."""
    return sorted(group % groups for group, std in group_stds(trajectories).items() if std < EQUAL)
