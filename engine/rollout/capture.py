"""Which trajectories of a step are recorded when not all of them may be. It chooses, and writes nothing.

1. Always, even beyond the budget: the best, the worst, and one member of each group whose returns are all equal, whose
   environment failed, or which has a response that could not be parsed: the member with most such responses. And a tenth of
   the budget, one at least, drawn by lot from all others: what is ordinary is seen too, however much else there is.
2. What is left of the budget makes groups whole, so that their members can be compared: those of the best and the
   worst, then those with faults or unparsed responses, then the others, each kind in an order drawn by lot. Groups of one
   with such a response come here too. The last group may be kept in part.

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
LOT_SHARE = 10  # the lot has one place in so many of the budget
SPLIT_STREAM = {"train": 0, "validation": 1}
EQUAL = 1e-9

Group = list[int]  # places of its members in the step


def choose(trajectories: Sequence[Trajectory], *, most: int, seeds: list[int]) -> dict[int, Reason]:
    """Places in `trajectories` that are kept, in order, and why each is. `most` 0 keeps all.

    `seeds` decide the lot: the same ones and the same trajectories give the same choice.
    """
    if not most or len(trajectories) <= most:
        return dict.fromkeys(range(len(trajectories)), "all")
    groups = _groups(trajectories)
    kept = dict(_telling(trajectories, groups))
    lot = np.random.default_rng(seeds)
    in_order = list(_in_order(trajectories, groups, kept, lot))
    kept |= dict.fromkeys(_by_lot(trajectories, kept, most, lot), "sample")
    for place, reason in in_order:
        if len(kept) >= most:
            break
        kept.setdefault(place, reason)
    return dict(sorted(kept.items()))


def counted(kept: dict[int, Reason]) -> dict[str, int]:
    """How many are kept for each reason."""
    return dict(Counter(kept.values()))


def _groups(trajectories: Sequence[Trajectory]) -> list[Group]:
    found: dict[tuple[str, int], Group] = {}
    for place, trajectory in enumerate(trajectories):
        found.setdefault((trajectory.environment, trajectory.group), []).append(place)
    return list(found.values())


def _telling(trajectories: Sequence[Trajectory], groups: list[Group]) -> Iterator[tuple[int, Reason]]:
    """Those that are always kept; of two reasons for one of them the later counts, so the best is the best."""
    for group in groups:
        if len(group) > 1 and (_is_equal(trajectories, group) or any(_failures(trajectories[p]) for p in group)):
            chosen = max(group, key=lambda place: _failures(trajectories[place]))
            yield chosen, _why_telling(trajectories[chosen])
    known = [place for place, trajectory in enumerate(trajectories) if trajectory.has_outcome]
    if known:
        yield min(reversed(known), key=lambda place: trajectories[place].score), "worst"
        yield max(known, key=lambda place: trajectories[place].score), "best"


def _by_lot(
    trajectories: Sequence[Trajectory], kept: dict[int, Reason], most: int, lot: np.random.Generator
) -> list[int]:
    others = [place for place in range(len(trajectories)) if place not in kept]
    drawn: list[int] = lot.permutation(others)[: max(1, most // LOT_SHARE)].tolist()
    return drawn


def _in_order(
    trajectories: Sequence[Trajectory], groups: list[Group], kept: dict[int, Reason], lot: np.random.Generator
) -> Iterator[tuple[int, Reason]]:
    """All places, group by group, in the order in which they are kept while there is room."""
    telling = set(kept)
    extremes = {place for place, reason in kept.items() if reason in ("best", "worst")}

    def rank(group: Group) -> int:
        if extremes & set(group):
            return 0
        return 1 if any(_failures(trajectories[place]) for place in group) else 2

    drawn = [groups[index] for index in lot.permutation(len(groups))]
    for group in sorted(drawn, key=rank):
        for place in group:
            yield place, _why_filled(trajectories[place], completes=not telling.isdisjoint(group))


def _why_telling(trajectory: Trajectory) -> Reason:
    if trajectory.fault:
        return "fault"
    return "parse_failure" if _failures(trajectory) else "zero_variance"


def _why_filled(trajectory: Trajectory, *, completes: bool) -> Reason:
    if _failures(trajectory):
        return _why_telling(trajectory)
    return "group" if completes else "sample"


def _is_equal(trajectories: Sequence[Trajectory], group: Group) -> bool:
    returns = [trajectories[place].raw_return for place in group if trajectories[place].has_outcome]
    return len(returns) > 1 and max(returns) - min(returns) < EQUAL


def _failures(trajectory: Trajectory) -> int:
    """Responses that were not understood; a fault of the environment counts for more than any number of them."""
    unparsed = sum(not turn.parsed.well_formed for turn in trajectory.turns)
    return unparsed + (10**9 if trajectory.fault else 0)
