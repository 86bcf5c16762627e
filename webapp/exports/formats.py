"""The formats that a run can be downloaded in, each as chunks that are made while they are sent."""

from __future__ import annotations

import csv
import io
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from engine.exports.mlflow_store import file_store
from engine.exports.tensorboard import event_file
from engine.exports.wandb_file import transaction_log
from webapp.exports.parquet import write_metrics, write_trajectories
from webapp.exports.reading import about_of, metric_names, steps_of
from webapp.runs.models import Run

CHUNK = 64 * 1024
BINARY = "application/octet-stream"
STEP_COLUMNS = ("step", "time", "tokens", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """`file` is the name of the download, in which `{id}` is the run's, and `use` what reads it."""

    title: str
    use: str
    file: str
    media: str
    chunks: Callable[[Run], Iterator[bytes]]

    def name(self, run: Run) -> str:
        return self.file.format(id=run.pk, started=int((run.started_at or run.created_at).timestamp()))


def _events(run: Run) -> Iterator[bytes]:
    """The file that the run's pages are made from, as it was written."""
    path = run.directory / "events.jsonl"
    if not path.is_file() or path.is_symlink():
        return
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _csv(run: Run) -> Iterator[bytes]:
    names = metric_names(run)
    rows = (
        [one.step, one.time, one.tokens, one.seconds, *(one.metrics.get(name, "") for name in names)]
        for one in steps_of(run)
    )
    yield _csv_line([*STEP_COLUMNS, *names])
    for row in rows:
        yield _csv_line(row)


def _csv_line(cells: Iterable[Any]) -> bytes:
    """A name of a metric is another's text: one that begins as a formula is no formula."""
    line = io.StringIO()
    csv.writer(line).writerow(
        [f"'{one}" if isinstance(one, str) and one[:1] in "=+-@\t\r" and one else one for one in cells]
    )
    return line.getvalue().encode()


def _tensorboard(run: Run) -> Iterator[bytes]:
    return event_file(steps_of(run), started=about_of(run).started)


def _wandb(run: Run) -> Iterator[bytes]:
    about = about_of(run)
    return _zipped([(f"wandb/offline-run-{run.pk}/run-{run.pk}.wandb", transaction_log(about, steps_of(run)))])


def _mlflow(run: Run) -> Iterator[bytes]:
    files = file_store(about_of(run), steps_of(run))
    return _zipped((one.path, iter([one.content.encode(errors="replace")])) for one in files)


def _zipped(files: Iterable[tuple[str, Iterator[bytes]]]) -> Iterator[bytes]:
    with tempfile.TemporaryFile() as whole:
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, chunks in files:
                with archive.open(path, "w", force_zip64=True) as entry:
                    for chunk in chunks:
                        entry.write(chunk)
        yield from _content(whole)


def _written(write: Callable[[IO[bytes]], None]) -> Iterator[bytes]:
    with tempfile.TemporaryFile() as whole:
        write(whole)
        yield from _content(whole)


def _content(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while chunk := file.read(CHUNK):
        yield chunk


FORMATS: dict[str, Format] = {
    "csv": Format(
        title="Metrics, CSV",
        use="a row for each step, a column for each metric",
        file="{id}.csv",
        media="text/csv",
        chunks=_csv,
    ),
    "parquet": Format(
        title="Metrics, Parquet",
        use="a row for each value",
        file="{id}-metrics.parquet",
        media=BINARY,
        chunks=lambda run: _written(lambda file: write_metrics(steps_of(run), file)),
    ),
    "trajectories": Format(
        title="Trajectories, Parquet",
        use="a row for each, with its messages, actions and rewards",
        file="{id}-trajectories.parquet",
        media=BINARY,
        chunks=lambda run: _written(lambda file: write_trajectories(run, file)),
    ),
    "tensorboard": Format(
        title="TensorBoard",
        use="an event file; put it into a log directory",
        file="events.out.tfevents.{started}.{id}",
        media=BINARY,
        chunks=_tensorboard,
    ),
    "mlflow": Format(
        title="MLflow",
        use="a file store, mlruns/, to unpack where MLflow reads it",
        file="{id}-mlflow.zip",
        media="application/zip",
        chunks=_mlflow,
    ),
    "wandb": Format(
        title="Weights & Biases",
        use="an offline run, for wandb sync",
        file="{id}-wandb.zip",
        media="application/zip",
        chunks=_wandb,
    ),
    "jsonl": Format(
        title="Events, JSON lines",
        use="everything the run reported, as it was written",
        file="{id}-events.jsonl",
        media="application/x-ndjson",
        chunks=_events,
    ),
}
