"""A cache of columns of runs that have ended: reading ten thousand steps takes most of the time of a request."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Count, Max

from webapp.live.columns import Columns, read_columns
from webapp.runs.models import Run

# SQLite releases the GIL at every row: ten concurrent readers would wait for one another ten thousand times.
ONE_READER = threading.Lock()
MOST_BYTES = 64 * 2**20


class Mark(NamedTuple):
    """Identifies the state of a run's steps: a step that is taken again has a higher `seq`."""

    steps: int
    newest: int


class ColumnCache:
    """Of the runs that were read most recently."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.runs: OrderedDict[str, tuple[Mark, Columns]] = OrderedDict()

    def find(self, run_id: str, mark: Mark, keys: Sequence[str]) -> Columns | None:
        """Columns with all of `keys`, or None."""
        known, columns = self.runs.get(run_id, (None, None))
        if columns is None or known != mark or not columns.metrics.keys() >= set(keys):
            return None
        self.runs.move_to_end(run_id)
        return columns

    def store(self, run_id: str, mark: Mark, columns: Columns) -> None:
        known, others = self.runs.pop(run_id, (None, columns))
        metrics = {**others.metrics, **columns.metrics} if known == mark else columns.metrics
        self.runs[run_id] = (mark, Columns(columns.axes, metrics))
        while sum(columns.size for _, columns in self.runs.values()) > self.most_bytes:
            self.runs.popitem(last=False)


CACHE = ColumnCache(MOST_BYTES)


def columns_of(run: Run, keys: Sequence[str], having: Sequence[str] = ()) -> Columns:
    """As `read_columns`; there may be more metrics than `keys`."""
    with ONE_READER:
        if having or not run.is_terminal:
            return read_columns(run, keys, having)
        state = run.steps.aggregate(Count("pk"), Max("seq"))
        known = CACHE.find(run.pk, Mark(state["pk__count"], state["seq__max"] or 0), keys)
        if known is None:
            known = read_columns(run, keys)
            seq = known.axes.seq
            CACHE.store(run.pk, Mark(len(seq), int(seq.max(initial=0))), known)
        return known
