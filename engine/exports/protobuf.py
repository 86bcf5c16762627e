"""The wire format of protocol buffers, as far as exports write it (protobuf.dev/programming-guides/encoding)."""

from __future__ import annotations

import struct

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(number: int) -> bytes:
    """A whole number from 0 on."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def whole(field: int, number: int) -> bytes:
    return varint(field << 3 | VARINT) + varint(number)


def double(field: int, number: float) -> bytes:
    return varint(field << 3 | FIXED64) + struct.pack("<d", number)


def single(field: int, number: float) -> bytes:
    return varint(field << 3 | FIXED32) + struct.pack("<f", number)


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | BYTES) + varint(len(content)) + content


def text(field: int, content: str) -> bytes:
    return message(field, content.encode(errors="replace"))
