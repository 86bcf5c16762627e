"""Trajectory shards: one JSON line a trajectory, each its own zstd frame. No torch.

Frames are concatenated, so `zstd -dc` reads the whole file and an offset and a length read one trajectory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zstandard

from engine.errors import RunDirectoryError

Record = dict[str, Any]
LEVEL = 3
MAX_RECORD_BYTES = 1 << 30


def write_shard(path: Path, records: list[Record]) -> None:
    """Writes all `records`, or nothing: the file appears under its name only when whole and synced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    compressor = zstandard.ZstdCompressor(level=LEVEL)
    with temporary.open("wb") as file:
        for record in records:
            file.write(compressor.compress(_encode(record)))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_records(path: Path) -> Iterator[tuple[int, int, Record]]:
    """`(offset, length, record)` of each trajectory, in order; `RunDirectoryError` at the first damaged frame."""
    data = memoryview(path.read_bytes())
    offset = 0
    while offset < len(data):
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        try:
            text = decompressor.decompress(data[offset:])
        except zstandard.ZstdError as error:
            raise _damaged(path, offset, str(error)) from None
        if not decompressor.eof:
            raise _damaged(path, offset, "it ends in the middle of a record")
        length = len(data) - offset - len(decompressor.unused_data)
        yield offset, length, _decode(path, offset, text)
        offset += length


def read_record(path: Path, offset: int, length: int) -> Record:
    """The one trajectory at `offset`."""
    return _decode(path, offset, read_text(path, offset, length))


def read_text(path: Path, offset: int, length: int) -> bytes:
    """The same as the JSON that was written, not yet parsed."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return zstandard.ZstdDecompressor().decompress(file.read(length), max_output_size=MAX_RECORD_BYTES)
    except FileNotFoundError:
        raise RunDirectoryError(
            f"The shard {path.name} is gone.", remedy="Its run directory was moved or cleaned; restore it to read it."
        ) from None
    except zstandard.ZstdError as error:
        raise _damaged(path, offset, str(error)) from None


def _encode(record: Record) -> bytes:
    # lone surrogates cannot be UTF-8; ASCII escapes keep them
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _decode(path: Path, offset: int, text: bytes) -> Record:
    try:
        record: Record = json.loads(text)
    except ValueError as error:
        raise _damaged(path, offset, str(error)) from None
    return record


def _damaged(path: Path, offset: int, why: str) -> RunDirectoryError:
    return RunDirectoryError(
        f"The shard {path.name} is damaged at byte {offset}: {why}.",
        remedy="Trajectories before that byte can still be read.",
    )
