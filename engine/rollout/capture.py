"""Which trajectories of a step are recorded if the budget does not allow all of them. It writes nothing.

1. Always, even beyond the budget: the best, the worst, and one member of each group whose returns are all equal, whose
   environment failed, or which has a response that could not be parsed: the member with most such responses. And a
   tenth of the budget, at least one, drawn at random from all others, so that ordinary trajectories are recorded too.
2. What is left of the budget makes groups whole, so that their members can be compared: those of the best and the
   worst, then those with faults or unparsed responses, then the others, each kind in an order drawn at random. Groups
   of one with such a response come here too. The last group may be kept in part.

The best and the worst are by score, return plus penalties; of equal ones the first is best and the last is worst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from engine.rollout.types import Trajectory

Reason = Literal["all", "best", "worst", "fault", "parse_failure", "zero_variance", "group", "sample"]
CAPTURE_STREAM = 11
RANDOM_SHARE = 10  # one in so many of the budget is drawn at random
SPLIT_STREAM = {"train": 0, "validation": 1}
EQUAL = 1e-9

Group = list[int]  # indices of its members in the step


def choose(trajectories: Sequence[Trajectory], *, most: int, seeds: list[int]) -> dict[int, Reason]:
    """Indices in `trajectories` that are kept, in order, with the reason for each. `most` 0 keeps all.

    `seeds` seed the random choice: the same seeds and trajectories give the same result.
    """
    if not most or len(trajectories) <= most:
        return dict.fromkeys(range(len(trajectories)), "all")
    groups = _groups(trajectories)
    kept = dict(_always_kept(trajectories, groups))
    generator = np.random.default_rng(seeds)
    in_order = list(_in_order(trajectories, groups, kept, generator))
    kept |= dict.fromkeys(_at_random(trajectories, kept, most, generator), "sample")
    for index, reason in in_order:
        if len(kept) >= most:
            break
        kept.setdefault(index, reason)
    return dict(sorted(kept.items()))


def counted(kept: dict[int, Reason]) -> dict[str, int]:
    """How many are kept for each reason."""
    return dict(Counter(kept.values()))


def _groups(trajectories: Sequence[Trajectory]) -> list[Group]:
    found: dict[tuple[str, int], Group] = {}
    for index, trajectory in enumerate(trajectories):
        found.setdefault((trajectory.environment, trajectory.group), []).append(index)
    return list(found.values())


def _always_kept(trajectories: Sequence[Trajectory], groups: list[Group]) -> Iterator[tuple[int, Reason]]:
    """Those that are always kept. The last reason of one counts, so that the best has the reason `best`."""
    for group in groups:
        if len(group) > 1 and (
            _is_equal(trajectories, group) or any(_failures(trajectories[index]) for index in group)
        ):
            chosen = max(group, key=lambda index: _failures(trajectories[index]))
            yield chosen, _why_always_kept(trajectories[chosen])
    known = [index for index, trajectory in enumerate(trajectories) if trajectory.has_outcome]
    if known:
        yield min(reversed(known), key=lambda index: trajectories[index].score), "worst"
        yield max(known, key=lambda index: trajectories[index].score), "best"


def _at_random(
    trajectories: Sequence[Trajectory], kept: dict[int, Reason], most: int, generator: np.random.Generator
) -> list[int]:
    others = [index for index in range(len(trajectories)) if index not in kept]
    drawn: list[int] = generator.permutation(others)[: max(1, most // RANDOM_SHARE)].tolist()
    return drawn


def _in_order(
    trajectories: Sequence[Trajectory], groups: list[Group], kept: dict[int, Reason], generator: np.random.Generator
) -> Iterator[tuple[int, Reason]]:
    """All indices, group by group, in the order in which they are kept within the budget."""
    always = set(kept)
    extremes = {index for index, reason in kept.items() if reason in ("best", "worst")}

    def rank(group: Group) -> int:
        if extremes & set(group):
            return 0
        return 1 if any(_failures(trajectories[index]) for index in group) else 2

    drawn = [groups[index] for index in generator.permutation(len(groups))]
    for group in sorted(drawn, key=rank):
        for index in group:
            yield index, _reason_to_complete(trajectories[index], completes=not always.isdisjoint(group))


def _why_always_kept(trajectory: Trajectory) -> Reason:
    if trajectory.fault:
        return "fault"
    return "parse_failure" if _failures(trajectory) else "zero_variance"


def _reason_to_complete(trajectory: Trajectory, *, completes: bool) -> Reason:
    if _failures(trajectory):
        return _why_always_kept(trajectory)
    return "group" if completes else "sample"


def _is_equal(trajectories: Sequence[Trajectory], group: Group) -> bool:
    returns = [trajectories[index].raw_return for index in group if trajectories[index].has_outcome]
    return len(returns) > 1 and max(returns) - min(returns) < EQUAL


def _failures(trajectory: Trajectory) -> int:
    """The number of malformed responses; a fault of the environment counts more than any number of them."""
    unparsed = sum(not turn.parsed.well_formed for turn in trajectory.turns)
    return unparsed + (10**9 if trajectory.fault else 0)
