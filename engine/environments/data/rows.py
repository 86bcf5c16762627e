"""Shipped data files: rows of JSON, one per line, compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
Row = dict[str, Any]


def encode(rows: Iterable[Row]) -> bytes:
    """The uncompressed content of a file: equal for equal rows."""
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows).encode()


def write_rows(name: str, rows: Iterable[Row]) -> Path:
    """Writes `name`.jsonl.gz without a time of writing, so that equal rows give equal files."""
    path = FOLDER / f"{name}.jsonl.gz"
    path.write_bytes(gzip.compress(encode(rows), 9, mtime=0))
    return path


def read_rows(name: str) -> list[Row]:
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
