"""Trajectory files: one JSON line per trajectory, each in its own zstd frame with a checksum. No torch.

Frames are concatenated, so `zstd -dc` reads the whole file, and an offset and a length read one trajectory. A skippable
frame before them is the index: which trajectory is where. If a file is damaged, the index names the lost trajectories,
and the others can still be read.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from engine.errors import RunDirectoryError

Record = dict[str, Any]
LEVEL = 3
MAX_RECORD_BYTES = 1 << 30
FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
INDEX_MAGIC = b"\x5e\x2a\x4d\x18"  # one of the sixteen that zstd skips
IDENTITY = ("environment", "group", "member", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The position of a trajectory in a file. `record` is None where it is lost, and `why` is the reason.

    `identity` has the environment, group, member and seed from the index; it is empty in a file without an index.
    """

    offset: int
    length: int
    record: Record | None
    why: str = ""
    identity: Record


def write_trajectory_file(path: Path, records: list[Record]) -> None:
    """Writes all `records` or none: the file gets its name only when it is complete and synced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    frames = [compressor.compress(_encode(record)) for record in records]
    with temporary.open("wb") as file:
        file.write(_index_of(records, frames))
        file.writelines(frames)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_records(path: Path) -> Iterator[tuple[int, int, Record]]:
    """`(offset, length, record)` of each trajectory, in order; `RunDirectoryError` at the first damaged frame."""
    for frame in survey(path):
        if frame.record is None:
            raise _damaged(path, frame.why)
        yield frame.offset, frame.length, frame.record


def survey(path: Path) -> Iterator[Frame]:
    """Every trajectory that the file has or had, the lost ones with the reason; `OSError` if it cannot be opened."""
    data = path.read_bytes()
    index = _index(data)
    if index is None:
        yield from _walk(data)
        return
    offset = _skippable_length(data)
    for identity in index:
        length = identity.pop("length")
        if offset + length > len(data):
            why = f"it was cut off at byte {len(data)}, before or in the middle of a record"
            yield Frame(offset=offset, length=length, record=None, why=why, identity=identity)
        else:
            yield _frame(data, offset, length, identity)
        offset += length


def _walk(data: bytes) -> Iterator[Frame]:
    """The frames of a file without an index, in order; after a damaged one, the next frame that begins."""
    offset = _skippable_length(data)
    while offset < len(data):
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        try:
            decompressor.decompress(memoryview(data)[offset:])
            why = "" if decompressor.eof else "it ends in the middle of a record"
        except zstandard.ZstdError as error:
            why = f"at byte {offset}, {error}"
        if not why:
            length = len(data) - offset - len(decompressor.unused_data)
            yield _frame(data, offset, length, {})
        else:
            following = data.find(FRAME_MAGIC, offset + 1)
            length = (following if following > 0 else len(data)) - offset
            yield Frame(offset=offset, length=length, record=None, why=why, identity={})
        offset += length


def _frame(data: bytes, offset: int, length: int, identity: Record) -> Frame:
    why, record = "", None
    try:
        text = zstandard.ZstdDecompressor().decompress(data[offset : offset + length], max_output_size=MAX_RECORD_BYTES)
        record = json.loads(text)
    except (zstandard.ZstdError, ValueError) as error:
        why = f"at byte {offset}, {error}"
    if record is not None and not isinstance(record, dict):
        why, record = f"at byte {offset}, it is not a record", None
    return Frame(offset=offset, length=length, record=record, why=why, identity=identity)


def _index_of(records: list[Record], frames: list[bytes]) -> bytes:
    entries = [
        {**{name: record.get(name) for name in IDENTITY}, "length": len(frame)}
        for record, frame in zip(records, frames, strict=True)
    ]
    text = json.dumps(entries, separators=(",", ":")).encode()
    return INDEX_MAGIC + struct.pack("<I", len(text)) + text


def _index(data: bytes) -> list[Record] | None:
    """The index of the file; None where it is absent or damaged."""
    size = _skippable_length(data)
    if not size:
        return None
    try:
        entries = json.loads(data[8:size])
    except ValueError:
        return None
    sound = isinstance(entries, list) and all(
        isinstance(entry, dict) and isinstance(entry.get("length"), int) and entry["length"] > 0 for entry in entries
    )
    return entries if sound else None


def _skippable_length(data: bytes) -> int:
    """Bytes of the index frame at the beginning, 0 where there is none."""
    if data[:4] != INDEX_MAGIC or len(data) < 8:
        return 0
    size = 8 + int(struct.unpack("<I", data[4:8])[0])
    return size if size <= len(data) else 0


def read_record(path: Path, offset: int, length: int) -> Record:
    """The trajectory at `offset`."""
    return _decode(path, offset, read_text(path, offset, length))


def read_text(path: Path, offset: int, length: int) -> bytes:
    """The trajectory at `offset` as the JSON that was written, not parsed."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return zstandard.ZstdDecompressor().decompress(file.read(length), max_output_size=MAX_RECORD_BYTES)
    except FileNotFoundError:
        raise RunDirectoryError(
            f"The trajectory file {path.name} does not exist.",
            remedy="The run directory was moved or cleaned up. Restore the file to read it.",
        ) from None
    except zstandard.ZstdError as error:
        raise _damaged(path, f"at byte {offset}, {error}") from None


def _encode(record: Record) -> bytes:
    # lone surrogates cannot be UTF-8; ASCII escapes keep them
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _decode(path: Path, offset: int, text: bytes) -> Record:
    try:
        record: Record = json.loads(text)
    except ValueError as error:
        raise _damaged(path, f"at byte {offset}, {error}") from None
    return record


def _damaged(path: Path, why: str) -> RunDirectoryError:
    return RunDirectoryError(
        f"The trajectory file {path.name} is damaged: {why}.",
        remedy="The other trajectories in the file can still be read.",
    )
