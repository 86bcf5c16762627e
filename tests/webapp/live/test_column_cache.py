"""The columns of an ended run are cached, and never served after its steps have changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from webapp.live.bands import MetricBands, metric_bands
from webapp.live.column_cache import CACHE, ColumnCache, Mark
from webapp.live.columns import read_columns
from webapp.runs.models import Run, StepMetrics

pytestmark = pytest.mark.django_db
NORM, ENTROPY = "optim/grad_norm", "policy/entropy"


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    CACHE.runs.clear()
    yield
    CACHE.runs.clear()


def run_of(steps: int, state: str = "finished") -> Run:
    run = Run.objects.create(name="calm-otter-12", config={}, state=state)
    take(run, range(1, steps + 1))
    return run


def take(run: Run, steps: range, *, seq: int = 0, norm: float = 1.0) -> None:
    rows = [
        StepMetrics(
            run=run, seq=seq + step, step=step, time=2.0 * step, tokens=step, seconds=step,
            metrics={NORM: norm * step, ENTROPY: 0.5},
        )
        for step in steps
    ]  # fmt: skip
    StepMetrics.objects.bulk_create(rows)


def bands_and_reads(run: Run, *keys: str) -> tuple[MetricBands, int]:
    """Bands, and the number of times that steps were read row by row for them."""
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = metric_bands(run, keys, 4)
    return found, sum("ORDER BY" in query["sql"] and "stepmetrics" in query["sql"] for query in queries)


def test_an_ended_run_is_read_once_for_any_number_of_requests() -> None:
    run = run_of(9)
    first, reads = bands_and_reads(run, NORM, ENTROPY)
    assert reads == 1
    assert bands_and_reads(run, NORM, ENTROPY) == (first, 0)
    one, reads = bands_and_reads(run, NORM)
    assert (one["series"], reads) == ({NORM: first["series"][NORM]}, 0)
    closer = metric_bands(run, [NORM], 4, first=3, last=4)
    assert closer["series"][NORM]["mean"] == [3.0, 4.0]


def test_a_live_run_is_read_every_time() -> None:
    run = run_of(9, state="running")
    assert [bands_and_reads(run, NORM)[1] for _ in range(2)] == [1, 1]


def test_another_metric_is_added_to_the_cached_ones() -> None:
    run = run_of(9)
    bands_and_reads(run, NORM)
    assert [bands_and_reads(run, *keys)[1] for keys in ([ENTROPY], [ENTROPY, NORM])] == [1, 0]


def test_repeated_steps_are_read_again() -> None:
    run = run_of(9)
    bands_and_reads(run, NORM)
    run.steps.filter(step__gt=6).delete()
    found, reads = bands_and_reads(run, NORM)
    assert (found["steps"][-1], found["last_seq"], reads) == (6, 6, 1)
    take(run, range(7, 10), seq=100, norm=-1.0)
    found, reads = bands_and_reads(run, NORM)
    assert (found["series"][NORM]["low"][-1], found["last_seq"], reads) == (-9.0, 109, 1)


def test_the_least_recently_read_runs_are_evicted() -> None:
    runs = [run_of(10) for _ in range(3)]
    read = [read_columns(run, [NORM]) for run in runs]
    assert read[0].size == 560  # 6 index columns and one metric, 10 numbers of 8 bytes each
    kept, mark = ColumnCache(most_bytes=1200), Mark(10, 10)
    kept.store("one", mark, read[0])
    kept.store("two", mark, read[1])
    assert kept.find("one", mark, [NORM])
    kept.store("three", mark, read[2])
    assert [bool(kept.find(name, mark, [NORM])) for name in ("one", "two", "three")] == [True, False, True]
    assert not kept.find("one", mark, [NORM, ENTROPY]) and not kept.find("one", Mark(10, 11), [NORM])
