"""Rows of data files that users name: JSON, JSON lines and Parquet, or a folder of these."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from engine.errors import ConfigError

Row = dict[str, Any]
SUFFIXES = (".json", ".jsonl", ".parquet")
BATCH_ROWS = 1024


def read_table(path: str, most: int) -> list[Row]:
    """The first `most` rows; `ConfigError` if the file is missing, of another format or damaged."""
    found = Path(path).expanduser()
    try:
        return list(islice(_rows(found), most))
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors too
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError(
            f"{path} cannot be read: {reason}", remedy=f"Give the path of a {', '.join(SUFFIXES)} file."
        ) from error


def version(path: str) -> tuple[str, int, int]:
    """Changes when a file does; the key of what was read from it."""
    try:
        status = Path(path).expanduser().stat()
    except OSError:
        return path, 0, 0
    return path, status.st_mtime_ns, status.st_size


def _rows(path: Path) -> Iterator[Row]:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
        if not files:
            raise ValueError("the folder has none of these files")
        for file in files:
            yield from _rows(file)
    elif path.suffix == ".parquet":
        yield from _parquet_rows(path)
    elif path.suffix == ".jsonl":
        with path.open(encoding="utf-8") as lines:
            yield from (_row(json.loads(line)) for line in lines if line.strip())
    elif path.suffix == ".json":
        yield from _json_rows(json.loads(path.read_text(encoding="utf-8")))
    else:
        raise ValueError("its name does not end in one of the known formats")


def _parquet_rows(path: Path) -> Iterator[Row]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as table:
        for batch in table.iter_batches(batch_size=BATCH_ROWS):
            yield from batch.to_pylist()


def _json_rows(data: Any) -> Iterator[Row]:
    """A list of objects, by itself or as the `data` of an object."""
    rows = data.get("data") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise ValueError("it is not a list of objects")
    yield from map(_row, rows)


def _row(value: Any) -> Row:
    if not isinstance(value, dict):
        raise ValueError(f"a row is a {type(value).__name__}, not an object")
    return value
