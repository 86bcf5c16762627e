"""Whether so many environments fail that a run must not go on: what is left is a biased sample of the problems."""

from __future__ import annotations

from collections import Counter

from engine.errors import EnvironmentFault
from engine.rollout.types import Trajectory


def require_few_faults(trajectories: list[Trajectory], *, share: float, what: str) -> None:
    """`EnvironmentFault` if more than `share` of the episodes ended with a fault; it names the most frequent one."""
    failed = [trajectory for trajectory in trajectories if trajectory.fault]
    if not failed or len(failed) <= share * len(trajectories):
        return
    kinds = Counter((trajectory.environment, trajectory.fault_kind) for trajectory in failed)
    (tag, kind), count = kinds.most_common(1)[0]
    example = next(one.fault for one in failed if (one.environment, one.fault_kind) == (tag, kind))
    raise EnvironmentFault(
        f"In {len(failed)} of {len(trajectories)} episodes of {what} the environment failed, more than the share of "
        f"{share:g} that stop.fault_share allows. The most frequent fault, in {count} episodes of {tag!r}, is "
        f"{kind or 'of no known kind'}. The first of them: {example}",
        remedy="Fix the environment, or raise stop.fault_share.",
        kind=kind,
    )
