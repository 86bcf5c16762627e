"""Columns of runs that are over, kept for whoever looks again, or closer: reading ten thousand steps takes most of the
time of an answer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Count, Max

from webapp.live.columns import Columns, read_columns
from webapp.runs.models import Run

# SQLite hands Python's lock on at every row: of ten readers at once each would wait for the others ten thousand times.
ONE_READER = threading.Lock()
MOST_BYTES = 64 * 2**20


class Mark(NamedTuple):
    """Of the steps of a run. One that is taken again has a higher `seq`, and what came after it is gone till then."""

    steps: int
    newest: int


class KeptColumns:
    """Those of the runs that were looked at last."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.runs: OrderedDict[str, tuple[Mark, Columns]] = OrderedDict()

    def find(self, run_id: str, mark: Mark, keys: Sequence[str]) -> Columns | None:
        """All of `keys`, or nothing."""
        known, columns = self.runs.get(run_id, (None, None))
        if columns is None or known != mark or not columns.metrics.keys() >= set(keys):
            return None
        self.runs.move_to_end(run_id)
        return columns

    def keep(self, run_id: str, mark: Mark, columns: Columns) -> None:
        known, others = self.runs.pop(run_id, (None, columns))
        metrics = {**others.metrics, **columns.metrics} if known == mark else columns.metrics
        self.runs[run_id] = (mark, Columns(columns.places, metrics))
        while sum(kept.size for _, kept in self.runs.values()) > self.most_bytes:
            self.runs.popitem(last=False)


KEPT = KeptColumns(MOST_BYTES)


def columns_of(run: Run, keys: Sequence[str], having: Sequence[str] = ()) -> Columns:
    """As `read_columns`; there may be more metrics than `keys`."""
    with ONE_READER:
        if having or not run.is_terminal:
            return read_columns(run, keys, having)
        state = run.steps.aggregate(Count("pk"), Max("seq"))
        known = KEPT.find(run.pk, Mark(state["pk__count"], state["seq__max"] or 0), keys)
        if known is None:
            known = read_columns(run, keys)
            seq = known.places.seq
            KEPT.keep(run.pk, Mark(len(seq), int(seq.max(initial=0))), known)
        return known
