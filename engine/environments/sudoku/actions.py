"""The ways to write a placement, after RAGEN: rows and columns count from 1, and 0 as the number empties the cell."""

from __future__ import annotations

import re
from dataclasses import dataclass

NUMBER, ROW, COLUMN = r"(?P<number>\d{1,2})", r"(?P<row>\d{1,2})", r"(?P<column>\d{1,2})"
COMMA = r"\s*,\s*"
FORMS = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        rf"place\s+{NUMBER}\s+at\s+row\s+{ROW}\s+col(?:umn)?\s+{COLUMN}",
        rf"(?:place\s+)?{NUMBER}\s+at\s*\(\s*{ROW}{COMMA}{COLUMN}\s*\)",
        rf"(?:place\s+)?{NUMBER}\s+at\s+{ROW}{COMMA}{COLUMN}",
        rf"\(\s*{ROW}{COMMA}{COLUMN}{COMMA}{NUMBER}\s*\)",
        rf"{ROW}{COMMA}{COLUMN}{COMMA}{NUMBER}",
    )
)
LONGEST = 80  # characters


@dataclass(frozen=True, slots=True)
class Placement:
    row: int  # from 0
    column: int
    number: int  # 0 empties the cell

    def __str__(self) -> str:
        return f"({self.row + 1},{self.column + 1},{self.number})"


def placement_of(text: str, size: int) -> Placement | None:
    """The placement that `text` is, as a whole; None if it is none, or outside the grid."""
    stripped = text[: LONGEST + 1].strip()
    found = next((match for match in (form.fullmatch(stripped) for form in FORMS) if match), None)
    if found is None or len(text) > LONGEST:
        return None
    row, column, number = (int(found[name]) for name in ("row", "column", "number"))
    inside = 1 <= row <= size and 1 <= column <= size and 0 <= number <= size
    return Placement(row - 1, column - 1, number) if inside else None
