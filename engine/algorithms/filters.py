"""Group filters: which groups of a step train, chosen by their scores alone. No torch: pages try other filters too.

Each filter is a class with the settings that it reads; `choose` returns the indices of the groups it keeps. How groups
come by their scores is in `engine.algorithms.group_scores`. (arXiv 2504.20073 section 4.2; RAGEN v2, 2604.06268.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import Field, TypeAdapter

from engine.section import Section, union_variants

GroupMetric = Literal["reward_variance", "reward_mean", "reward_sum", "entropy", "entropy_variance", "length"]
ShareMetric = Literal["reward_variance", "entropy", "entropy_variance", "length"]
ZERO = 1e-10
ROUNDING = 1e-9
SCORE = (
    "Score of a group. reward_variance: standard deviation of its returns. entropy: mean token entropy; "
    "entropy_variance: standard deviation of its trajectories' entropies. length: mean number of sampled tokens."
)


class FilterBase(Section):
    """What the trainer and the pages read of a filter. A filter without a setting has the value here."""

    type: str

    @property
    def score_metric(self) -> GroupMetric:
        """What groups are scored by, and recorded with."""
        return "reward_variance"

    @property
    def prefers_largest(self) -> bool:
        return True

    @property
    def drops_equal_returns(self) -> bool:
        """Whether groups whose members all have the same return never train."""
        return False

    @property
    def selects(self) -> bool:
        """Whether there is a choice at all."""
        return True

    def scale(self, kept_ratio: float) -> float:
        """What advantages are multiplied by when the share `kept_ratio` of groups trains."""
        return 1.0

    def choose(self, scores: Sequence[float]) -> list[int]:
        """Indices of the kept groups, ascending; empty when there is no signal."""
        raise NotImplementedError


class NoFilter(FilterBase):
    """All groups train."""

    type: Literal["none"] = "none"

    @property
    def selects(self) -> bool:
        return False

    def choose(self, scores: Sequence[float]) -> list[int]:
        return list(range(len(scores)))


class _Ranked(FilterBase):
    """Keeps the first of the groups in order of their scores; ties go to the lower index."""

    largest: bool = Field(True, description="Keep the groups with the largest scores; off: with the smallest.")
    include_zero: bool = Field(
        False,
        description="Keep groups of score 0 too. Under reward_variance these are groups whose members all have the "
        "same return.",
    )
    loss_scaling: Literal["none", "linear", "sqrt"] = Field(
        "none",
        description="Multiply advantages by the share of groups kept (linear) or its square root (sqrt), so that a "
        "step on few groups moves the policy less.",
    )

    @property
    def prefers_largest(self) -> bool:
        return self.largest

    @property
    def drops_equal_returns(self) -> bool:
        return self.score_metric == "reward_variance" and not self.include_zero

    def scale(self, kept_ratio: float) -> float:
        return {"none": 1.0, "linear": kept_ratio, "sqrt": math.sqrt(kept_ratio)}[self.loss_scaling]

    def choose(self, scores: Sequence[float]) -> list[int]:
        indices = [i for i, score in enumerate(scores) if self.include_zero or abs(score) > ZERO]
        if not indices:
            return []
        indices.sort(key=scores.__getitem__, reverse=self.largest)
        return sorted(indices[: self.count([scores[i] for i in indices], len(scores))])

    def count(self, ranked: list[float], total: int) -> int:
        """How many groups to keep, of the scores `ranked` in order of preference; `total` counts the whole step."""
        raise NotImplementedError


class TopP(_Ranked):
    """The fewest groups that hold a share of the total mass of scores.

    `TopP(value=0.9).choose([4, 2, 1, 1])` is `[0, 1]`: of the squares 16, 4, 1, 1 the first two hold 20, and 0.9 of 22
    is 19.8. At 1 every group with a score is kept.
    """

    type: Literal["top_p"] = "top_p"
    value: float = Field(0.9, gt=0, le=1, description="Share of the mass to keep. Smaller keeps fewer groups.")
    mode: Literal["variance", "std", "softmax"] = Field(
        "variance",
        description="Mass of a group. variance: its squared score. std: its score (RAGEN's default). softmax: the "
        "softmax of the scores (RAGEN v2's tables); keeps nearly all groups when scores are close.",
    )
    metric: ShareMetric = Field("reward_variance", description=SCORE)
    epsilon: float = Field(0.01, ge=0, lt=1, description="variance, std: slack, as a share of the mass to keep.")

    @property
    def score_metric(self) -> GroupMetric:
        return self.metric

    def count(self, ranked: list[float], total: int) -> int:
        if self.value >= 1:
            return len(ranked)
        return MASS[self.mode](ranked, self.value, self.epsilon)


class TopK(_Ranked):
    """A share of all groups of the step, at least one."""

    type: Literal["top_k"] = "top_k"
    value: float = Field(0.25, gt=0, le=1, description="Share of groups to keep.")
    metric: GroupMetric = Field(
        "reward_variance", description=f"{SCORE} reward_mean, reward_sum: mean and sum of its returns."
    )

    @property
    def score_metric(self) -> GroupMetric:
        return self.metric

    def count(self, ranked: list[float], total: int) -> int:
        return max(1, int(self.value * total + ROUNDING))


class TopKAbsolute(_Ranked):
    """A number of groups."""

    type: Literal["top_k_absolute"] = "top_k_absolute"
    value: int = Field(8, ge=1, le=4096, description="Number of groups to keep.")
    metric: GroupMetric = Field(
        "reward_variance", description=f"{SCORE} reward_mean, reward_sum: mean and sum of its returns."
    )

    @property
    def score_metric(self) -> GroupMetric:
        return self.metric

    def count(self, ranked: list[float], total: int) -> int:
        return self.value


class MinP(_Ranked):
    """Groups whose score is close enough to the best.

    Of n rewards of 0 or 1 the std is smallest with one that differs, 1/sqrt(n), and at most sqrt(n / (n - 1)) / 2, so
    every mixed group has 2 sqrt(n - 1) / n of the best score or more.
    """

    type: Literal["min_p"] = "min_p"
    value: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Share of the best group's score that a group needs. Smaller keeps more groups. With rewards of 0 "
        "or 1, shares up to 0.66 keep every mixed group of 8, and shares up to 0.48 every one of 16.",
    )
    metric: ShareMetric = Field("reward_variance", description=SCORE)

    @property
    def score_metric(self) -> GroupMetric:
        return self.metric

    def count(self, ranked: list[float], total: int) -> int:
        best = ranked[0]
        if self.largest:
            return sum(score >= self.value * best - ZERO for score in ranked)
        return sum(score <= best / self.value + ZERO for score in ranked)


GroupFilter = Annotated[NoFilter | TopP | TopK | TopKAbsolute | MinP, Field(discriminator="type")]
FILTERS = cast("dict[str, type[FilterBase]]", union_variants(GroupFilter))
_ADAPTER: TypeAdapter[FilterBase] = TypeAdapter(GroupFilter)


def filter_from(data: dict[str, Any]) -> FilterBase:
    """`{"type": …, …}` as a checked filter; `ValidationError` where it is none."""
    return _ADAPTER.validate_python(data)


def threshold_of(scores: Sequence[float], kept: Sequence[int], *, largest: bool = True) -> float:
    """The score of the last group that was kept: the smallest (largest with `largest` off); 0 when none was.

    Every kept group scores at least this much. A dropped group may equal it where a tie was cut.
    """
    chosen = [scores[index] for index in kept]
    return (min if largest else max)(chosen, default=0.0)


def _walk(masses: list[float], value: float, epsilon: float) -> int:
    """Groups walked until they hold `value * total * (1 - epsilon)`, in whatever unit returns are."""
    wanted = value * sum(masses) * (1 - epsilon)
    held, count = 0.0, 0
    for mass in masses:
        if held >= wanted or mass <= 0:
            break
        held, count = held + mass, count + 1
    return count if held >= wanted else 0


def _variance(ranked: list[float], value: float, epsilon: float) -> int:
    return _walk([score**2 for score in ranked], value, epsilon)


def _softmax(ranked: list[float], value: float, epsilon: float) -> int:
    first = ranked[0]  # of the largest exponent
    masses = [math.exp(-abs(score - first)) for score in ranked]
    total, held, count = math.fsum(masses), 0.0, 0
    for mass in masses:
        held += mass / total
        count += 1
        if held >= value - ROUNDING:
            break
    return count


MASS: dict[str, Callable[[list[float], float, float], int]] = {"variance": _variance, "std": _walk, "softmax": _softmax}
