"""All entries that a filter leaves, as columns: their order, ranks and training seeds come from one query of a few
values each, and only the rows of the page are read whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from django.db.models import F, QuerySet
from numpy.typing import NDArray

from webapp.leaderboard.columns import COLUMNS
from webapp.leaderboard.models import Entry
from webapp.leaderboard.query import BoardQuery

Floats = NDArray[np.float64]
Keys = NDArray[np.int64]


@dataclass(frozen=True)
class Listing:
    """`keys` of entries in the order of the table, with their `values` of the measure; NaN is unknown."""

    keys: Keys
    values: Floats
    fewer_is_better: bool

    @classmethod
    def of(cls, matching: QuerySet[Entry], query: BoardQuery) -> Listing:
        column = F(COLUMNS[query.sort].field)
        order = column.asc(nulls_last=True) if query.ascending else column.desc(nulls_last=True)
        rows = list(matching.order_by(order, "-success", "pk").values_list("pk", query.measure.field))
        keys, values = zip(*rows, strict=True) if rows else ((), ())
        return cls(np.array(keys, np.int64), np.array(values, np.float64), query.measure.ascending)

    @cached_property
    def best_first(self) -> Keys:
        """The keys of entries whose value is known; of equal ones the oldest first."""
        known = ~np.isnan(self.values)
        found: Keys = self.keys[known][np.lexsort((self.keys[known], self._worth[known]))]
        return found

    def ranks(self, start: int, end: int) -> dict[int, int | None]:
        """Of the rows from `start` to `end`: entries with the same value share one, those without have none."""
        shown = self._worth[start:end]
        better = np.searchsorted(np.sort(self._worth), shown)  # NaN is sorted last
        ranks = [None if np.isnan(worth) else int(count) + 1 for worth, count in zip(shown, better, strict=True)]
        return dict(zip(self.keys[start:end].tolist(), ranks, strict=True))

    @property
    def _worth(self) -> Floats:
        """Less is better."""
        return self.values if self.fewer_is_better else -self.values
