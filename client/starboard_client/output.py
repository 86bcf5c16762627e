"""Text for a terminal. What a run is called and writes is untrusted: control characters do not reach the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

KEPT = "\n\t"


def plain(text: object) -> str:
    """Without characters that move the cursor, change colours or turn text around."""
    return "".join(sign if sign.isprintable() or sign in KEPT else "\N{REPLACEMENT CHARACTER}" for sign in str(text))


def say(text: object = "") -> None:
    sys.stdout.write(f"{plain(text)}\n")


def note(text: object) -> None:
    """Beside the output, for people."""
    sys.stderr.write(f"{plain(text)}\n")


def as_json(data: Any) -> None:
    sys.stdout.write(f"{json.dumps(data, indent=2)}\n")


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns aligned for a terminal; separated by tabs for a program."""
    lines = [[plain(cell).replace("\n", " ").replace("\t", " ") for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for line in lines:
            sys.stdout.write("\t".join(line) + "\n")
        return
    widths = [max(len(line[index]) for line in [list(head), *lines]) for index in range(len(head))]
    for line in [list(head), *lines]:
        sys.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n")


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
