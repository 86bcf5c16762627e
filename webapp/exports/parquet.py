"""Metrics and trajectories as Parquet. pyarrow is only loaded when one is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Any

from engine.errors import RunDirectoryError
from engine.exports.types import Step
from webapp.runs.models import Run
from webapp.trajectories import services
from webapp.trajectories.chat import messages_of
from webapp.trajectories.models import Trajectory

STEPS_AT_ONCE, TRAJECTORIES_AT_ONCE = 500, 200
COLUMNS = {
    "step": "step",
    "split": "split",
    "environment": "environment",
    "group": "group",
    "member": "member",
    "seed": "seed",
    "success": "success",
    "return": "episode_return",
    "score": "score",
    "advantage": "advantage",
    "group_std": "group_std",
    "kept": "kept",
    "turns": "turns",
    "response_tokens": "response_tokens",
    "stop": "stop",
}


def write_metrics(steps: Iterable[Step], file: IO[bytes]) -> None:
    """A row for each value: step, time, tokens, seconds, metric, value."""
    import pyarrow
    from pyarrow import parquet

    name = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    whole, number = pyarrow.int64(), pyarrow.float64()
    types = {"step": whole, "time": number, "tokens": whole, "seconds": number, "metric": name, "value": number}
    with parquet.ParquetWriter(file, pyarrow.schema(types)) as writer:
        for some in _batches(steps, STEPS_AT_ONCE):
            rows = [(*one[:4], metric, value) for one in some for metric, value in one.metrics.items()]
            columns = dict(zip(types, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(types, ())
            arrays = {key: list(values) for key, values in columns.items()}
            writer.write_table(
                pyarrow.table(arrays, schema=pyarrow.schema({**types, "metric": pyarrow.string()})).cast(
                    pyarrow.schema(types)
                )
            )


def write_trajectories(run: Run, file: IO[bytes]) -> None:
    """A row for each trajectory that can be read, with its messages, and the actions and the reward of each turn."""
    import pyarrow
    from pyarrow import parquet

    text, number = pyarrow.string(), pyarrow.float64()
    whole, flag = pyarrow.int64(), pyarrow.bool_()
    schema = pyarrow.schema(
        {
            **dict.fromkeys(("step",), whole),
            **dict.fromkeys(("split", "environment"), text),
            **dict.fromkeys(("group", "member", "seed"), whole),
            "success": flag,
            **dict.fromkeys(("return", "score", "advantage", "group_std"), number),
            "kept": flag,
            **dict.fromkeys(("turns", "response_tokens"), whole),
            "stop": text,
            "messages": pyarrow.list_(pyarrow.struct({"role": text, "content": text})),
            "actions": pyarrow.list_(pyarrow.list_(text)),
            "rewards": pyarrow.list_(number),
        }
    )
    rows = run.trajectories.filter(removed=False).select_related("run")
    ordered = rows.order_by("step", "split", "environment", "group", "member")
    with parquet.ParquetWriter(file, schema) as writer:
        for some in _batches(ordered.iterator(chunk_size=TRAJECTORIES_AT_ONCE), TRAJECTORIES_AT_ONCE):
            found = [row for one in some if (row := _row(one)) is not None]
            writer.write_table(pyarrow.Table.from_pylist(found, schema=schema))


def _row(trajectory: Trajectory) -> dict[str, Any] | None:
    try:
        record = services.record(trajectory)
    except RunDirectoryError:
        return None  # its page says why
    return {
        **{name: getattr(trajectory, column) for name, column in COLUMNS.items()},
        "messages": [{name: _sound(text) for name, text in message.items()} for message in messages_of(record)],
        "actions": [[_sound(str(action)) for action in turn.get("executed") or []] for turn in record["turns"]],
        "rewards": [turn.get("reward") for turn in record["turns"]],
    }


def _sound(text: str) -> str:
    """Without lone surrogates, which cannot be UTF-8."""
    return text.encode(errors="replace").decode()


def _batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    left = iter(items)
    while found := list(islice(left, size)):
        yield found
