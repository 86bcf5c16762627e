"""Which rows of a leaderboard are not significantly different from its best, problem by problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.statistics.multiple_comparisons import holm
from engine.statistics.proportions import newcombe_p_many
from engine.statistics.shared_problems import FEWEST, compare_on_shared, compare_with_many, tally
from webapp.evaluations.models import ProblemList
from webapp.evaluations.outcomes import problems_of, unpacked, unpacked_many

SIGNIFICANT = 0.05

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


class Ranked(Protocol):
    """What is compared of a row."""

    @property
    def successes(self) -> int: ...
    @property
    def episodes(self) -> int: ...
    @property
    def problem_list(self) -> str | None: ...
    @property
    def solved(self) -> bytes: ...


class Ties(NamedTuple):
    """Of each row (N,), against the first, the best: `p` of no difference, adjusted, and the shared problems; 0 where
    episodes are independent."""

    tied: NDArray[np.bool_]
    p: Floats
    shared: Counts


def ties(ranked: Sequence[Ranked]) -> Ties:
    """Tied with the best, the first, are those whose difference to it has a p above 0.05, adjusted for all of these
    comparisons together (Holm): the chance of one wrong claim in a table is at most that, however many rows it has.

    Rows that played the same list of problems are compared with the best at once, as a leaderboard has thousands.
    Without a record of the problems, or where all have one problem, episodes are taken as independent.
    """
    p, shared = np.ones(len(ranked)), np.zeros(len(ranked), dtype=np.int64)
    best, lists = ranked[0], [row.problem_list for row in ranked]
    played = {key: problems_of(found) for key, found in ProblemList.objects.in_bulk({*lists} - {None}).items()}
    distinct = 0 if best.problem_list is None else len(np.unique(played[best.problem_list]))
    alike, others = _split(lists) if distinct >= FEWEST else ([], [])
    independent = np.ones(len(ranked), dtype=bool)
    independent[[0, *alike, *others]] = False
    if distinct >= FEWEST:
        shared[[0, *alike]] = distinct
    if alike:
        problems = played[str(best.problem_list)]
        outcomes = unpacked_many([ranked[index].solved for index in alike], len(problems))
        p[alike] = compare_with_many(unpacked(best.solved, len(problems)), outcomes, problems).p
    own = _tally(best, played) if others else {}
    for index in others:
        found = compare_on_shared(own, _tally(ranked[index], played))
        if found is None:
            independent[index] = True
        else:
            is_ahead = found.difference > 0  # else nothing is claimed: the best may be behind on what is shared
            p[index], shared[index] = found.p if is_ahead else 1.0, found.problems
    rest = np.flatnonzero(independent)
    p[rest] = _independent(best, [ranked[index] for index in rest.tolist()])
    p[1:] = holm(p[1:])
    return Ties(p > SIGNIFICANT, p, shared)


def _split(lists: Sequence[str | None]) -> tuple[list[int], list[int]]:
    """The rows that played the problems of the first, and those that played other ones."""
    alike = [index for index, key in enumerate(lists) if index and key == lists[0]]
    others = [index for index, key in enumerate(lists) if key is not None and key != lists[0]]
    return alike, others


def _tally(row: Ranked, played: dict[str, NDArray[np.uint64]]) -> dict[int, tuple[int, int]]:
    problems = played[str(row.problem_list)]
    return tally(problems, unpacked(row.solved, len(problems)))


def _independent(best: Ranked, rows: Sequence[Ranked]) -> Floats:
    """Of each row the p against the best; few counts are distinct."""
    if not rows:
        return np.empty(0)
    counts = np.array([(row.successes, row.episodes) for row in rows], np.int64)
    distinct, index = np.unique(counts, axis=0, return_inverse=True)
    p: Floats = newcombe_p_many(best.successes, best.episodes, distinct[:, 0], distinct[:, 1])[index.reshape(-1)]
    return p
