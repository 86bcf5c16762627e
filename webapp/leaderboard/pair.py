"""Two entries problem by problem: which problems one solves and the other does not."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.statistics.all_pairs import compare_all
from engine.statistics.paired import sign_flip_test
from engine.suites.comparability import differences
from webapp.leaderboard.models import Entry
from webapp.leaderboard.problem_scores import problem_scores, samples_of
from webapp.suites.models import ItemResult, SuiteEvaluation

MOST_SHOWN = 200  # problems of each list
RESAMPLES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """`index` is its position in the item, `sample` one on which the two differ."""

    order: int
    item: str
    index: int
    seed: int
    identity: str
    solved: int
    scored: int
    other_solved: int
    other_scored: int
    sample: int


@dataclass(slots=True, kw_only=True)
class PairPage:
    """`difference` is `first - other` with its interval; `p` of no difference is not adjusted, since it is one test.
    `why_not` says why the two are not compared."""

    first: Entry
    other: Entry
    why_not: list[str] = field(default_factory=list)
    difference: float = 0.0
    low: float = 0.0
    high: float = 0.0
    p: float = 1.0
    sign_flip_p: float | None = None  # beside t, where a problem has several samples and there is one environment
    shared: int = 0
    several: bool = False  # samples per problem
    only_first: list[Problem] = field(default_factory=list)
    only_other: list[Problem] = field(default_factory=list)
    ahead: int = 0
    behind: int = 0
    same: int = 0

    @property
    def significant(self) -> bool:
        return self.p <= 0.05


def read_pair(first: Entry, other: Entry) -> PairPage:
    page = PairPage(first=first, other=other)
    if first.key != other.key:
        conditions = dict(SuiteEvaluation.objects.filter(pk__in=[first.pk, other.pk]).values_list("pk", "conditions"))
        page.why_not = differences(conditions[first.pk], conditions[other.pk])
        return page
    found = problem_scores([first.pk, other.pk])
    if len(found.entries) < 2:
        page.why_not = ["the outcomes of one of them are gone"]
        return page
    pairs = compare_all(found.scores[:1], found.scores[1:], strata=found.strata)
    page.shared, page.ahead, page.behind = (int(pairs[index][0, 0]) for index in (4, 5, 6))
    if np.isnan(pairs.difference[0, 0]):
        page.why_not = ["fewer than two problems have a score of both"]
        return page
    page.difference, page.low, page.high, page.p = (float(pairs[index][0, 0]) for index in range(4))
    page.same = page.shared - page.ahead - page.behind
    page.several = first.samples > 1
    if page.several and len(found.strata) == 1:
        mine, its = (row[~np.isnan(found.scores).any(axis=0)].tolist() for row in found.scores)
        page.sign_flip_p = sign_flip_test(mine, its, seed=_seed(first, other), resamples=RESAMPLES)
    _list_problems(page)
    return page


def _list_problems(page: PairPage) -> None:
    """Those with the largest gain first."""
    suite = SuiteEvaluation.objects.select_related("version").get(pk=page.first.pk).suite()
    rows = ItemResult.objects.filter(evaluation__in=[page.first.pk, page.other.pk])
    items: dict[int, dict[int, ItemResult]] = {}
    for item in rows:
        items.setdefault(item.order, {})[item.evaluation_id] = item
    gains: list[tuple[float, Problem]] = []
    for order, found in sorted(items.items()):
        solved, scored = samples_of([found[page.first.pk], found[page.other.pk]])
        document = suite.items[order]
        for index, gain in _gains(solved, scored):
            counts = (solved & scored)[:, index].sum(axis=1), scored[:, index].sum(axis=1)
            gains.append(
                (
                    gain,
                    Problem(
                        order=order,
                        item=document.name,
                        index=index,
                        seed=document.seeds[index],
                        identity=document.problems[index],
                        solved=int(counts[0][0]),
                        scored=int(counts[1][0]),
                        other_solved=int(counts[0][1]),
                        other_scored=int(counts[1][1]),
                        sample=_sample_they_differ_on(solved[:, index], scored[:, index], gain),
                    ),
                )
            )
    ordered = sorted(gains, key=lambda one: (-abs(one[0]), one[1].order, one[1].index))
    page.only_first = [problem for gain, problem in ordered if gain > 0]
    page.only_other = [problem for gain, problem in ordered if gain < 0]


def _gains(solved: NDArray[np.bool_], scored: NDArray[np.bool_]) -> list[tuple[int, float]]:
    """Problems that one of the two solved more often, by index, with the difference of the shares."""
    counts = scored.sum(axis=2)
    both = (counts > 0).all(axis=0)
    shares = (solved & scored).sum(axis=2) / np.maximum(counts, 1)
    gain = np.where(both, shares[0] - shares[1], 0.0)
    return [(int(index), float(gain[index])) for index in np.flatnonzero(np.abs(gain) > 1e-9)]


def _sample_they_differ_on(solved: NDArray[np.bool_], scored: NDArray[np.bool_], gain: float) -> int:
    """The first sample that the better one solved and the other did not; else one that the better one solved."""
    better, worse = (0, 1) if gain > 0 else (1, 0)
    ahead = solved[better] & scored[better]
    differ = np.flatnonzero(ahead & scored[worse] & ~solved[worse])
    return int(differ[0]) if len(differ) else int(np.flatnonzero(ahead)[0])


def _seed(first: Entry, other: Entry) -> int:
    """The same for both orders of the two, so that they have one p."""
    return zlib.crc32(" ".join(map(str, sorted((first.pk, other.pk)))).encode())
