"""What a training loop reports, as JSON lines. Whatever cannot be one is dropped and counted, and never raises."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

Kind = Literal["metrics", "groups", "trajectories", "evaluation"]
MOST_BYTES = 1_000_000  # of a line of several groups
LONGEST_GROUP = 16_000_000  # bytes; the site takes 64 MB at once


class Report(NamedTuple):
    kind: Kind
    time: float
    step: int
    content: Any
    split: str = ""


def floats(metrics: Mapping[str, Any]) -> tuple[dict[str, float], int]:
    """Values that are numbers, now, since a tensor may change later; and how many are none."""
    found: dict[str, float] = {}
    dropped = 0
    for name, value in metrics.items():
        if type(value) is float:
            found[name] = value
            continue
        try:
            found[str(name)] = float(value)
        except Exception:  # whatever a tensor of several values raises
            dropped += 1
    return found, dropped


def as_json(value: Any) -> Any:
    """Mappings, sequences, texts and numbers as JSON has them, numbers of numpy and torch too; of anything else its
    text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(name): as_json(part) for name, part in value.items()}
    if hasattr(value, "tolist"):
        return as_json(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(part) for part in value]
    return str(value)


def bodies(report: Report) -> Iterator[str]:
    """The JSON objects of a report without their first field, `seq`. Raises `ValueError` for what is no JSON."""
    about = {"step": report.step, "time": report.time}
    if report.kind == "metrics":
        # null where a value is not finite: the site counts them
        values = {name: value if math.isfinite(value) else None for name, value in report.content.items()}
        yield _body({**about, "metrics": values})
    elif report.kind == "trajectories":
        for text in _packed(report.content):
            yield f'{_body({**about, "split": report.split})[:-1]},"trajectories":[{text}]}}'
    else:
        yield _body({**about, report.kind: report.content})


def _body(data: Mapping[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)[1:]


def _packed(trajectories: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Whole groups together, in lines that are not too long: the standard deviation is of a group."""
    waiting: list[str] = []
    size = 0
    in_order = sorted(trajectories, key=_group)
    for group, members in groupby(in_order, key=_group):
        text = ",".join(json.dumps(one, separators=(",", ":"), allow_nan=False) for one in members)
        if len(text) > LONGEST_GROUP:
            raise ValueError(f"group {group[1]} has {len(text):,} bytes; at most {LONGEST_GROUP:,} are sent")
        if waiting and size + len(text) > MOST_BYTES:
            yield ",".join(waiting)
            waiting, size = [], 0
        waiting.append(text)
        size += len(text)
    if waiting:
        yield ",".join(waiting)


def _group(trajectory: Mapping[str, Any]) -> tuple[str, int]:
    return str(trajectory.get("environment", "")), int(trajectory.get("group", 0))
