"""Which rows of a leaderboard are not significantly different from its best, problem by problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from engine.statistics.proportions import newcombe_many
from engine.statistics.shared_problems import FEWEST, compare_on_shared, compare_with_many, tally
from webapp.evaluations.models import ProblemList
from webapp.evaluations.outcomes import problems_of, unpacked, unpacked_many


class Ranked(Protocol):
    """What is compared of a row, and the result."""

    successes: int
    episodes: int
    problem_list: str | None
    solved: bytes
    tied: bool
    shared_problems: int


def mark_ties(ranked: Sequence[Ranked]) -> None:
    """Tied with the best, the first, are those whose 95% interval of the difference to it holds 0.

    Rows that played the same list of problems are compared with it at once, as a leaderboard has thousands. Without a
    record of the problems, or where all have one problem, episodes are taken as independent.
    """
    best = ranked[0]
    lists = ProblemList.objects.in_bulk({row.problem_list for row in ranked if row.problem_list is not None})
    played = {key: problems_of(found) for key, found in lists.items()}
    distinct = {key: len(np.unique(problems)) for key, problems in played.items()}
    alike = [row for row in ranked if row.problem_list == best.problem_list]
    if best.problem_list is None or distinct[best.problem_list] < FEWEST:
        _mark_independent(best, ranked)
        return
    problems = played[best.problem_list]
    outcomes = unpacked_many([row.solved for row in alike], len(problems))
    low, _ = compare_with_many(outcomes[0], outcomes, problems)
    for row, lowest in zip(alike, low.tolist(), strict=True):
        row.tied, row.shared_problems = lowest <= 0, distinct[best.problem_list]
    _mark_independent(best, [row for row in ranked if row.problem_list is None])
    best_tally = tally(problems, outcomes[0])
    for row in ranked:
        if row.problem_list is None or row.problem_list == best.problem_list:
            continue
        own = played[row.problem_list]
        found = compare_on_shared(best_tally, tally(own, unpacked(row.solved, len(own))))
        if found is None:
            _mark_independent(best, [row])
        else:
            row.tied, row.shared_problems = found.low <= 0, found.problems


def _mark_independent(best: Ranked, rows: Sequence[Ranked]) -> None:
    if not rows:
        return
    successes, episodes = [row.successes for row in rows], [row.episodes for row in rows]
    low, _ = newcombe_many(best.successes, best.episodes, successes, episodes)
    for row, lowest in zip(rows, low.tolist(), strict=True):
        row.tied, row.shared_problems = lowest <= 0, 0
