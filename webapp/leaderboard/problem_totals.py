"""What the scored episodes of an entry add up to, problem by problem: read from its outcomes once and stored as bytes,
so that entries are compared by any measure without their files."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.suites.outcomes import read_columns
from webapp.leaderboard.models import Entry, ProblemTotals
from webapp.suites.models import ItemResult, SuiteEvaluation

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
COLUMNS = ["item", "problem", "success", "episode_return", "turns", "tokens", "malformed"]
RETURN, TURNS, TOKENS, WELL_FORMED = "return", "turns", "tokens", "well_formed"


class Totals(NamedTuple):
    """(P,) each, or (N, P) of many entries; NaN where it is not known."""

    episodes: Floats
    returns: Floats
    turns: Floats
    tokens: Floats
    malformed: Floats

    @property
    def fractions(self) -> dict[str, tuple[Floats, Floats]]:
        """Numerator and denominator of each measure."""
        return {
            RETURN: (self.returns, self.episodes),
            TURNS: (self.turns, self.episodes),
            TOKENS: (self.tokens, self.episodes),
            WELL_FORMED: (self.turns - self.malformed, self.turns),
        }


def read_totals(evaluation: SuiteEvaluation, items: Sequence[ItemResult]) -> dict[int, Totals]:
    """By the order of the item; empty without a file."""
    try:
        table = read_columns(evaluation.folder, COLUMNS)
    except OSError as error:
        log.warning("Outcomes of evaluation %s cannot be read: %s", evaluation.pk, error)
        return {}
    if not len(table):
        return {}
    problems = {item.name: item.problems for item in evaluation.suite().items}
    names = np.array(table["item"].to_pylist())
    hashes = np.array(table["problem"].to_pylist())
    numbers = [table[name].to_numpy().astype(np.float64) for name in COLUMNS[3:]]
    is_scored = np.array([success is not None for success in table["success"].to_pylist()])
    found = {}
    for item in items:
        position = {problem: index for index, problem in enumerate(problems[item.name])}
        chosen = np.flatnonzero((names == item.name) & is_scored & np.isin(hashes, problems[item.name]))
        index = np.array([position[problem] for problem in hashes[chosen].tolist()], dtype=np.int64)
        episodes = np.ones(len(chosen))
        found[item.order] = Totals(
            *(_sums(values, index, item.problems) for values in (episodes, *(one[chosen] for one in numbers)))
        )
    return found


def save_totals(entry: Entry, totals: dict[int, Totals]) -> None:
    """Replaces those of the entry."""
    ProblemTotals.objects.filter(entry=entry).delete()
    ProblemTotals.objects.bulk_create(
        ProblemTotals(entry=entry, order=order, sums=np.stack(one).astype("<f8").tobytes())
        for order, one in totals.items()
    )


def stored_totals(entries: Collection[int]) -> dict[int, list[Totals]]:
    """Of the items in order, by the entry; entries without any are left out."""
    found: dict[int, list[Totals]] = defaultdict(list)
    rows = ProblemTotals.objects.filter(entry__in=entries).order_by("entry", "order")
    for entry, sums in rows.values_list("entry", "sums"):
        found[entry].append(Totals(*np.frombuffer(bytes(sums), dtype="<f8").reshape(len(Totals._fields), -1)))
    return found


def _sums(values: Floats, index: NDArray[np.int64], problems: int) -> Floats:
    return np.bincount(index, weights=values, minlength=problems).astype(np.float64)
