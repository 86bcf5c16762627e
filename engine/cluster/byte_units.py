"""Bytes: the sizes of numbers, counts of numbers, and bytes in words."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from engine.policies.model_shape import Sizes

FLOAT, HALF, INDEX = 4, 2, 8  # bytes
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
PROCESS_BYTES = 490 * 1024**2  # Python, PyTorch, transformers and peft on a CPU, before any weight; measured
LIBRARIES = "Python and its libraries"


def count(sizes: Iterable[Sizes]) -> int:
    return sum(prod(size) for size in sizes)


def format_bytes(size: float) -> str:
    """Bytes in the unit that leaves one to four digits: `713 bytes`, `12.4 GiB`."""
    for unit in UNITS:
        if size < 1024 or unit == UNITS[-1]:
            break
        size /= 1024
    return f"{size:.0f} {unit}" if size >= 100 or unit == "bytes" else f"{size:.1f} {unit}"


def listed(parts: list[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {format_bytes(size)}" for name, size in parts)
