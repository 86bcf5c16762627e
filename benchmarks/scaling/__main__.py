"""Fits the measurements, and puts tables and curves into `docs/scaling.md` and beside it.

    python -m benchmarks.scaling [FOLDER]

FOLDER, `docs` by default, has `scaling.md`, with a line `<!-- NAME -->` before each table, and `scaling/measured.jsonl`
of `benchmarks.scaling.measure`, `scaling/memory.jsonl` of `benchmarks.scaling.memory` and `scaling/head.jsonl` of
`benchmarks.head_scores`.
"""

from __future__ import annotations

import json
import sys
from itertools import dropwhile
from pathlib import Path

from benchmarks.scaling.measured import fitted, read
from benchmarks.scaling.memory_table import head_table, memory_table
from benchmarks.scaling.plot import plot_fit, plot_predictions
from benchmarks.scaling.report import cells, tables


def main(folder: Path) -> int:
    text = folder / "scaling.md"
    text.write_text(filled(text.read_text(), tables_of(folder)))
    points = read(folder / "scaling" / "measured.jsonl")
    costs = fitted(points)
    plot_fit(points, costs, folder / "scaling" / "fit.svg")
    plot_predictions(cells(costs, grows=True), folder / "scaling" / "growing.svg")
    plot_predictions(cells(costs, grows=False), folder / "scaling" / "fixed.svg")
    return 0


def tables_of(folder: Path) -> dict[str, str]:
    file = folder / "scaling" / "measured.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    tokens = sum(line["step"]["tokens"] for line in lines)
    found = tables(read(file), sum(line["file_bytes"] for line in lines) / tokens)
    return {
        **found,
        "memory": memory_table(folder / "scaling" / "memory.jsonl"),
        "head": head_table(folder / "scaling" / "head.jsonl"),
    }


def filled(text: str, found: dict[str, str]) -> str:
    """`text` with the table after each `<!-- NAME -->` replaced."""
    for name, rows in found.items():
        before, mark, after = text.partition(f"<!-- {name} -->\n")
        if mark:
            rest = dropwhile(lambda line: line.startswith(("|", "\n")), after.splitlines(keepends=True))
            text = f"{before}{mark}\n{rows}\n\n{''.join(rest)}"
    return text


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs")))
