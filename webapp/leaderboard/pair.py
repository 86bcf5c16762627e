"""Two entries problem by problem: which problems one solves and the other does not, or on which it has more of another
measure."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.statistics.paired import sign_flip_test
from engine.statistics.ranks import SIGNIFICANT
from engine.suites.comparability import differences
from webapp.leaderboard.columns import COLUMNS, Column
from webapp.leaderboard.models import Entry
from webapp.leaderboard.problem_scores import SHARES, Floats, ProblemScores, problem_scores, samples_of
from webapp.suites.models import ItemResult, SuiteEvaluation

MOST_SHOWN = 200  # problems of each list
RESAMPLES = 20_000
ROUNDING = 1e-9  # a difference below this is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """`index` is its position in the item, `sample` one on which the two differ, `score` what the first has of the
    measure."""

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
    score: float
    other_score: float


@dataclass(slots=True, kw_only=True)
class PairPage:
    """`difference` is `first - other` with its interval; `p` of no difference is not adjusted, since it is one test.
    `why_not` says why the two are not compared."""

    first: Entry
    other: Entry
    measure: Column
    why_not: list[str] = field(default_factory=list)
    difference: float = 0.0
    low: float = 0.0
    high: float = 0.0
    p: float = 1.0
    sign_flip_p: float | None = None  # beside t, where problems have scores between 0 and 1 in one environment
    shared: int = 0
    several: bool = False  # scores between 0 and 1: of several samples per problem
    by_t: bool = False
    more_first: list[Problem] = field(default_factory=list)
    more_other: list[Problem] = field(default_factory=list)
    ahead: int = 0
    behind: int = 0
    same: int = 0

    @property
    def significant(self) -> bool:
        return self.p <= SIGNIFICANT

    @property
    def test(self) -> str:
        """What p and the interval come from."""
        if self.measure.key not in SHARES:
            return "Paired t test over problems, each of which counts with its episodes or responses"
        return "Paired t test over problems" if self.by_t else "Exact test of McNemar, interval of Bonett and Price"


def read_pair(first: Entry, other: Entry, measure: Column = COLUMNS["success"]) -> PairPage:
    page = PairPage(first=first, other=other, measure=measure)
    if first.key != other.key:
        conditions = dict(SuiteEvaluation.objects.filter(pk__in=[first.pk, other.pk]).values_list("pk", "conditions"))
        page.why_not = differences(conditions[first.pk], conditions[other.pk])
        return page
    found = problem_scores([first.pk, other.pk], measure)
    if len(found.entries) < 2:
        page.why_not = [f"{measure.title.lower()} problem by problem is not known for one of them"]
        return page
    pairs = found.of([0]).compared(found.of([1]))
    page.shared, page.ahead, page.behind = (int(pairs[index][0, 0]) for index in (4, 5, 6))
    if np.isnan(pairs.difference[0, 0]):
        page.why_not = ["fewer than two problems have a score in both"]
        return page
    page.difference, page.low, page.high, page.p = (float(pairs[index][0, 0]) for index in range(4))
    page.same = page.shared - page.ahead - page.behind
    page.several = not np.isin(found.scores[~np.isnan(found.scores)], (0.0, 1.0)).all()
    page.by_t = page.several or len(found.strata) > 1
    if page.several and measure.key in SHARES and len(found.strata) == 1:
        mine, its = (row[~np.isnan(found.scores).any(axis=0)].tolist() for row in found.scores)
        page.sign_flip_p = sign_flip_test(mine, its, seed=_seed(first, other), resamples=RESAMPLES)
    _list_problems(page, found)
    return page


def _list_problems(page: PairPage, found: ProblemScores) -> None:
    """Those with the largest gain first."""
    suite = SuiteEvaluation.objects.select_related("version").get(pk=page.first.pk).suite()
    rows = ItemResult.objects.filter(evaluation__in=[page.first.pk, page.other.pk])
    items: dict[int, dict[int, ItemResult]] = {}
    for item in rows:
        items.setdefault(item.order, {})[item.evaluation_id] = item
    problems: list[Problem] = []
    by_item = np.split(found.scores, np.cumsum(found.strata)[:-1], axis=1)
    for (order, pair), scores in zip(sorted(items.items()), by_item, strict=True):
        solved, scored = samples_of([pair[page.first.pk], pair[page.other.pk]])
        document = suite.items[order]
        for index in _that_differ(scores):
            counts = (solved & scored)[:, index].sum(axis=1), scored[:, index].sum(axis=1)
            gain = float(scores[0, index] - scores[1, index])
            problems.append(
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
                    score=float(scores[0, index]),
                    other_score=float(scores[1, index]),
                )
            )
    problems.sort(key=lambda one: (-round(abs(one.score - one.other_score), 9), one.order, one.index))
    page.more_first = [one for one in problems if one.score > one.other_score]
    page.more_other = [one for one in problems if one.score < one.other_score]


def _that_differ(scores: Floats) -> list[int]:
    """Indices of problems that both have a score for, and not the same."""
    return [int(index) for index in np.flatnonzero(np.abs(scores[0] - scores[1]) > ROUNDING)]


def _sample_they_differ_on(solved: NDArray[np.bool_], scored: NDArray[np.bool_], gain: float) -> int:
    """The first sample that the one with more solved and the other did not; else one that it solved, or any."""
    more, less = (0, 1) if gain > 0 else (1, 0)
    ahead = solved[more] & scored[more]
    differ = np.flatnonzero(ahead & scored[less] & ~solved[less])
    found = differ if len(differ) else np.flatnonzero(ahead) if ahead.any() else np.flatnonzero(scored[more])
    return int(found[0])


def _seed(first: Entry, other: Entry) -> int:
    """The same for both orders of the two, so that they have one p."""
    return zlib.crc32(" ".join(map(str, sorted((first.pk, other.pk)))).encode())
