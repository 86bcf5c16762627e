"""Which rows of a leaderboard are not significantly different from its best, problem by problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from engine.statistics.multiple_comparisons import holm
from engine.statistics.proportions import newcombe_p_many
from engine.statistics.shared_problems import FEWEST, compare_on_shared, compare_with_many, tally
from webapp.evaluations.models import ProblemList
from webapp.evaluations.outcomes import problems_of, unpacked, unpacked_many

SIGNIFICANT = 0.05


class Ranked(Protocol):
    """What is compared of a row, and the result."""

    successes: int
    episodes: int
    problem_list: str | None
    solved: bytes
    tied: bool
    p: float
    shared_problems: int


class Compared(NamedTuple):
    """A row against the best: p of no difference, and the shared problems; 0 where episodes are independent."""

    row: Ranked
    p: float
    shared_problems: int = 0


def mark_ties(ranked: Sequence[Ranked]) -> None:
    """Tied with the best, the first, are those whose difference to it has a p above 0.05, adjusted for all of these
    comparisons together (Holm): the chance of one wrong claim in a table is at most that, however many rows it has."""
    best, others = ranked[0], ranked[1:]
    best.tied, best.p, best.shared_problems = True, 1.0, 0
    compared = _compared(best, others)
    for found, p in zip(compared, holm([found.p for found in compared]).tolist(), strict=True):
        found.row.tied, found.row.p, found.row.shared_problems = p > SIGNIFICANT, p, found.shared_problems


def _compared(best: Ranked, rows: Sequence[Ranked]) -> list[Compared]:
    """Rows that played the same list of problems are compared with the best at once, as a leaderboard has thousands.
    Without a record of the problems, or where all have one problem, episodes are taken as independent."""
    keys = {row.problem_list for row in (best, *rows) if row.problem_list is not None}
    played = {key: problems_of(found) for key, found in ProblemList.objects.in_bulk(keys).items()}
    if best.problem_list is None or (distinct := len(np.unique(played[best.problem_list]))) < FEWEST:
        return _independent(best, rows)
    problems = played[best.problem_list]
    solved = unpacked(best.solved, len(problems))
    best.shared_problems = distinct
    alike = [row for row in rows if row.problem_list == best.problem_list]
    found = _independent(best, [row for row in rows if row.problem_list is None])
    if alike:
        p = compare_with_many(solved, unpacked_many([row.solved for row in alike], len(problems)), problems).p
        found += [Compared(row, own, distinct) for row, own in zip(alike, p.tolist(), strict=True)]
    best_tally = tally(problems, solved)
    for row in rows:
        if row.problem_list is None or row.problem_list == best.problem_list:
            continue
        own = played[row.problem_list]
        shared = compare_on_shared(best_tally, tally(own, unpacked(row.solved, len(own))))
        if shared is None:
            found += _independent(best, [row])
        else:
            is_ahead = shared.difference > 0  # else nothing is claimed: the best may be behind on what is shared
            found.append(Compared(row, shared.p if is_ahead else 1.0, shared.problems))
    return found


def _independent(best: Ranked, rows: Sequence[Ranked]) -> list[Compared]:
    if not rows:
        return []
    counts = [(row.successes, row.episodes) for row in rows]
    distinct = sorted(set(counts))  # far fewer than rows
    p = newcombe_p_many(best.successes, best.episodes, *zip(*distinct, strict=True)).tolist()
    by_counts = dict(zip(distinct, p, strict=True))
    return [Compared(row, by_counts[own]) for row, own in zip(rows, counts, strict=True)]
