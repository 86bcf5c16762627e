"""Grids as text: rows of symbols, coordinate lists, or both. Symbols can be configured; the legend explains them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

GridFormat = Literal["grid", "coordinates", "grid_and_coordinates"]
Position = tuple[int, int]

# all characters that a grid observation may contain, for gymnasium's Text space
CHARSET = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n\t_#.,:;()[]{}|/\\+-*=<>?!@$%^&~`'\"√"
)


def resolve_symbols(defaults: dict[str, str], overrides: dict[str, str]) -> dict[str, str]:
    """`defaults` with `overrides`; `ValueError` for an unknown name, an invalid symbol, or one used twice."""
    unknown = set(overrides) - set(defaults)
    if unknown:
        raise ValueError(f"symbols: no symbol is called {sorted(unknown)[0]!r}; the names are {', '.join(defaults)}.")
    symbols = {**defaults, **overrides}
    for name, symbol in symbols.items():
        if len(symbol) != 1 or symbol.isspace():
            raise ValueError(f"symbols: {name} is {symbol!r}; give one visible character.")
        if symbol not in CHARSET:
            raise ValueError(f"symbols: {name} is {symbol!r}; give an ASCII character or √.")
    if len(set(symbols.values())) < len(symbols):
        raise ValueError("symbols: two names share a character; give each its own.")
    return symbols


def legend(symbols: dict[str, str], words: dict[str, str]) -> str:
    """`Symbols: P player, _ ice, …`, in the order of `words`."""
    return "Symbols: " + ", ".join(f"{symbols[name]} {word}" for name, word in words.items()) + "."


def draw(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(" ".join(row) for row in rows)


def with_symbol(grid: str, columns: int, row: int, column: int, symbol: str) -> str:
    """What `draw` wrote with another symbol in one cell; each cell is one character with one after it."""
    at = 2 * (row * columns + column)
    return grid[:at] + symbol + grid[at + 1 :]


def list_positions(objects: dict[str, list[Position]]) -> str:
    """One line per kind of object: `Holes: (0, 3) (2, 1)`; kinds without objects are left out."""
    return "\n".join(
        f"{name}: " + " ".join(f"({row}, {column})" for row, column in positions)
        for name, positions in objects.items()
        if positions
    )


def compose(form: GridFormat, grid: str, coordinates: str) -> str:
    return {"grid": grid, "coordinates": coordinates, "grid_and_coordinates": f"{coordinates}\n{grid}"}[form]


def coordinate_note(form: GridFormat, rows: int, columns: int) -> str:
    """Explains coordinates, with the size of the grid; empty for a plain grid."""
    if form == "grid":
        return ""
    return f"Places are (row, column) from (0, 0) at the top left to ({rows - 1}, {columns - 1})."
