"""Event files of TensorBoard: records of a length, its checksum, an `Event` message and its checksum.

The framing is that of TFRecord (tensorflow.org/tutorials/load_data/tfrecord): CRC-32C, rotated by 15 bits plus a
constant. The fields are those of `event.proto` and `summary.proto` in tensorboard/compat/proto.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator

from engine.exports.protobuf import double, message, single, text, whole
from engine.exports.types import Step

VERSION = "brain.Event:2"
POLYNOMIAL = 0x82F63B78  # of CRC-32C, reversed
MASK_DELTA = 0xA282EAD8
WALL_TIME, STEP, FILE_VERSION, SUMMARY = 1, 2, 3, 5  # fields of Event
VALUE, TAG, SIMPLE_VALUE = 1, 1, 2  # of Summary, and of its Value
LARGEST = 3.4028234663852886e38  # of a float32


def _table() -> tuple[int, ...]:
    found = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ POLYNOMIAL if byte & 1 else byte >> 1
        found.append(byte)
    return tuple(found)


TABLE = _table()


def event_file(steps: Iterable[Step], *, started: float) -> Iterator[bytes]:
    """Its records, one for each step."""
    yield record(double(WALL_TIME, started) + text(FILE_VERSION, VERSION))
    for one in steps:
        values = b"".join(
            message(VALUE, text(TAG, name) + single(SIMPLE_VALUE, _float32(value)))
            for name, value in one.metrics.items()
        )
        yield record(double(WALL_TIME, one.time) + whole(STEP, one.step) + message(SUMMARY, values))


def record(content: bytes) -> bytes:
    length = struct.pack("<Q", len(content))
    return length + struct.pack("<I", masked(length)) + content + struct.pack("<I", masked(content))


def masked(content: bytes) -> int:
    checksum = crc32c(content)
    return ((checksum >> 15 | checksum << 17) + MASK_DELTA) & 0xFFFFFFFF


def crc32c(content: bytes) -> int:
    table, checksum = TABLE, 0xFFFFFFFF
    for byte in content:
        checksum = table[(checksum ^ byte) & 0xFF] ^ checksum >> 8
    return checksum ^ 0xFFFFFFFF


def _float32(value: float) -> float:
    return math.copysign(LARGEST, value) if abs(value) > LARGEST else value
