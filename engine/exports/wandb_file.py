"""Transaction logs of W&B, as `wandb sync` reads them: `offline-run-…/run-<id>.wandb`.

The framing is LevelDB's log (github.com/google/leveldb/blob/main/doc/log_format.md): blocks of 32 KiB, records in
fragments of a checksum, a length and a type. W&B's files begin with seven bytes of their own, and their checksum is
CRC-32 of the type and the content, not masked. The fields are those of `wandb_internal.proto` in wandb 0.31.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from engine.exports.protobuf import message, text, whole
from engine.exports.types import About, Step

HEADER = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
BLOCK = 32 * 1024
FRAGMENT = struct.Struct("<IHB")  # checksum, length, type
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
# fields of Record, and of what it holds
NUMBER, HISTORY, SUMMARY, RUN, EXIT, VERSION = 1, 2, 3, 17, 18, 21
ITEM, HISTORY_STEP, UPDATE, KEY, NESTED_KEY, VALUE = 1, 2, 1, 1, 2, 16
RUN_ID, PROJECT, CONFIG, NAME, NOTES, TAG, START_TIME = 1, 3, 4, 8, 9, 10, 17
PRODUCER, LEAST_READER = "starboard", "0.70.0"


def transaction_log(about: About, steps: Iterable[Step]) -> Iterator[bytes]:
    log = _Log()
    yield HEADER
    yield log.add(message(VERSION, message(1, text(1, PRODUCER) + text(2, LEAST_READER))))
    yield log.add(message(RUN, _run(about)))
    last: Step | None = None
    for last in steps:
        items = {**last.metrics, "_step": last.step, "_timestamp": last.time, "_runtime": last.seconds}
        yield log.add(message(HISTORY, _items(ITEM, items) + message(HISTORY_STEP, whole(1, last.step))))
    if last is not None:
        yield log.add(message(SUMMARY, _items(UPDATE, {**last.metrics, "_step": last.step})))
    if about.ended is not None:
        yield log.add(message(EXIT, whole(1, 0 if about.succeeded else 1)))


class _Log:
    """Numbers records and cuts them into fragments, none of which crosses a block."""

    def __init__(self) -> None:
        self.count = 0
        self.position = len(HEADER)

    def add(self, content: bytes) -> bytes:
        self.count += 1
        left = whole(NUMBER, self.count) + content
        written = b""
        first = True
        while first or left:
            room = BLOCK - self.position % BLOCK
            if room < FRAGMENT.size:
                written += bytes(room)
                self.position += room
                continue
            part, left = left[: room - FRAGMENT.size], left[room - FRAGMENT.size :]
            kind = (FULL if first else LAST) if not left else (FIRST if first else MIDDLE)
            written += FRAGMENT.pack(zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            self.position += FRAGMENT.size + len(part)
            first = False
        return written


def _run(about: About) -> bytes:
    seconds, fraction = divmod(about.started, 1)
    config = b"".join(
        message(UPDATE, text(KEY, name) + text(VALUE, _json(value))) for name, value in about.config.items()
    )
    return b"".join(
        (
            text(RUN_ID, about.id),
            text(PROJECT, about.project) if about.project else b"",
            message(CONFIG, config),
            text(NAME, about.name),
            text(NOTES, about.notes) if about.notes else b"",
            *(text(TAG, tag) for tag in about.tags),
            message(START_TIME, whole(1, int(seconds)) + whole(2, int(fraction * 1e9))),
        )
    )


def _items(field: int, values: dict[str, float]) -> bytes:
    """With `nested_key`: a name with dots is one name, not a path."""
    return b"".join(
        message(field, text(NESTED_KEY, name) + text(VALUE, _json(value))) for name, value in values.items()
    )


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
