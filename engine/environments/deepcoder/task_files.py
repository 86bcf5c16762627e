"""Reads tasks by their row from JSON Lines and Parquet, and keeps only a few of them in memory."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from engine.environments.bounded_cache import cached_in_bytes
from engine.environments.deepcoder.tasks import Task, task_of
from engine.environments.loading import loaded_once
from engine.errors import ConfigError

SHIPPED = Path(__file__).with_name("tasks.jsonl")
KEPT_BYTES = 64 << 20


class Rows(Protocol):
    count: int

    def row(self, index: int) -> dict[str, Any]: ...


class JsonLines:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.starts: list[int] = []
        with path.open("rb") as file:
            start = 0
            for line in file:
                if line.strip():
                    self.starts.append(start)
                start += len(line)
        self.count = len(self.starts)

    def row(self, index: int) -> dict[str, Any]:
        with self.path.open("rb") as file:
            file.seek(self.starts[index])
            found: dict[str, Any] = json.loads(file.readline())
        return found


class Parquet:
    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.file = parquet.ParquetFile(path)
        groups = [self.file.metadata.row_group(index).num_rows for index in range(self.file.num_row_groups)]
        self.starts = [sum(groups[:index]) for index in range(len(groups))]
        self.count = sum(groups)
        self._group: tuple[int, Any] = (-1, None)

    def row(self, index: int) -> dict[str, Any]:
        group = bisect_right(self.starts, index) - 1
        if self._group[0] != group:
            self._group = (group, self.file.read_row_group(group))
        found: dict[str, Any] = self._group[1].slice(index - self.starts[group], 1).to_pylist()[0]
        return found


READERS: dict[str, Callable[[Path], Rows]] = {".jsonl": JsonLines, ".parquet": Parquet}


@loaded_once(8)
def rows_of(path: str) -> Rows:
    """The rows of a file; `ConfigError` where it cannot be read or has none."""
    file = Path(path).expanduser()
    remedy = "Give the path of a .jsonl or .parquet file with tasks and their tests."
    if file.suffix not in READERS:
        raise ConfigError(f"{path} is not a file of tasks that can be read.", remedy=remedy)
    try:
        rows = READERS[file.suffix](file)
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise ConfigError(f"{path} cannot be read: {error}", remedy=remedy) from None
    if not rows.count:
        raise ConfigError(f"{path} has no tasks.", remedy=remedy)
    return rows


@cached_in_bytes(KEPT_BYTES)
def task_at(path: str, index: int) -> Task:
    try:
        row = rows_of(path).row(index)
    except (OSError, ValueError) as error:
        raise ConfigError(f"Row {index} of {path} cannot be read: {error}", remedy="Repair the file.") from None
    return task_of(row, str(row.get("name") or row.get("question_id") or f"row {index} of {Path(path).name}"))
