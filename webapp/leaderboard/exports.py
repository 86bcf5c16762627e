"""A leaderboard as CSV, JSON and Markdown, with the comparability key and what p-values are adjusted for."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable
from typing import Any

from webapp.leaderboard.board import Board
from webapp.leaderboard.cells import cell, signed
from webapp.leaderboard.columns import COLUMNS, shown_in
from webapp.leaderboard.rows import Row
from webapp.visible_text import visible

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # a spreadsheet runs a cell that begins with one of these
MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-!|~&])")


def as_json(board: Board) -> dict[str, Any]:
    """All rows of the page, with numbers as they are; null is unknown."""
    return {
        "suite": board.suite.name,
        "suite_version": board.suite_version,
        "key": board.key,
        "measure": board.query.measure.key,
        "adjusted": board.family,
        "baseline": board.baseline.entry.pk if board.baseline else None,
        "total": board.total,
        "rows": [row_as_json(row) for row in board.rows],
        "not_comparable": [
            {"key": one.key, "count": one.count, "differences": one.differences} for one in board.others
        ],
    }


def row_as_json(row: Row) -> dict[str, Any]:
    entry, standing, delta = row.entry, row.standing, row.standing.delta
    values: dict[str, Any] = {}
    for column in COLUMNS.values():
        if column.unit != "text":
            values[column.key] = list(found) if (found := row.estimate(column)) else None
    return {
        "evaluation": entry.pk,
        "name": entry.name,
        "policy": entry.policy,
        "preset": entry.preset,
        "run": entry.run_id,
        "step": entry.step,
        "training_seeds": [one.training_seed for one in row.members or [entry]],
        "rank": row.rank,
        "ranks": list(standing.ranks) if standing.ranks else None,
        "ties": standing.ties,
        "difference": delta.difference if delta else None,
        "difference_low": delta.low if delta else None,
        "difference_high": delta.high if delta else None,
        "p": delta.p if delta else None,
        "problems": entry.problems,
        "samples": entry.samples,
        "scored": entry.scored,
        "planned": entry.planned,
        "device": entry.device,
        "half_known": entry.half_known,
        "pass_curve": {name: found for name, found in entry.measures.items() if name.startswith("pass")},
        "values": values,
    }


def as_csv(board: Board) -> str:
    """A row each, with the ends of intervals in columns of their own."""
    plain = ("evaluation", "name", "policy", "preset", "run", "step", "rank", "ties", "difference", "difference_low",
             "difference_high", "p", "problems", "samples", "scored", "planned", "device")  # fmt: skip
    numbers = [column.key for column in COLUMNS.values() if column.unit != "text"]
    ends = [f"{key}{end}" for key in numbers for end in ("", "_low", "_high")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(
        [*plain, "training_seeds", "best_rank", "worst_rank", *ends, "suite", "key", "baseline", "adjusted"]
    )
    baseline = board.baseline.entry.pk if board.baseline else None
    for row in map(row_as_json, board.rows):
        found = [number for key in numbers for number in (row["values"][key] or [None, None, None])]
        seeds = " ".join(str(seed) for seed in row["training_seeds"] if seed is not None)
        ranks = row["ranks"] or [None, None]
        cells = [*(row[name] for name in plain), seeds, *ranks, *found, f"{board.suite.name} v{board.suite_version}"]
        writer.writerow([safe_cell(one) for one in [*cells, board.key, baseline, board.family]])
    return out.getvalue()


def safe_cell(value: Any) -> Any:
    """Numbers as they are; text that a spreadsheet would run as a formula has an apostrophe before it (OWASP)."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = visible(value)
        return f"'{text}" if text.startswith(FORMULA) or text.lstrip().startswith(FORMULA) else text
    return value


def as_markdown(board: Board) -> str:
    """A table for people, of the columns that the page shows."""
    columns = [COLUMNS["success"], *shown_in(board.query.show, samples=board.samples)]
    measure = board.query.measure
    heads = [
        "Rank",
        "Ties",
        "Model",
        "Seeds",
        *(one.title for one in columns),
        f"Difference of {measure.title.lower()}",
    ]
    lines = [_line(heads), _line(["---:", ":---", ":---", "---:", *("---:" for _ in columns), "---:"])]
    for row in board.rows:
        delta, standing = row.standing.delta, row.standing
        difference = f"{signed(delta.difference, measure)}{'' if delta.significant else ' (n.s.)'}" if delta else ""
        cells = [cell(row, column) for column in columns]
        texts = [f"{one.text} ({one.interval})" if one.interval else one.text for one in cells]
        rank = str(standing.ranks or row.rank or "")
        lines.append(_line([rank, standing.ties, escaped(row.entry.name), str(row.seeds), *texts, difference]))
    base, others = board.baseline, sum(one.count for one in board.others)
    notes = [
        f"Suite {board.suite.name} v{board.suite_version}, comparability key {board.key[:12]}.",
        f"{board.family}." if board.family else "",
        f"Differences are to {escaped(base.entry.name)}." if base else "",
        f"{others} {'entry' if others == 1 else 'entries'} evaluated under other conditions left out."
        if others
        else "",
    ]
    return "\n".join([*lines, "", *(f"{note}  " for note in notes if note)]) + "\n"


def escaped(text: str) -> str:
    """Text as Markdown shows it, on one line."""
    return MARKDOWN.sub(r"\\\1", " ".join(visible(text).split()))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


FORMATS: dict[str, tuple[str, Callable[[Board], str]]] = {
    "csv": ("text/csv; charset=utf-8", as_csv),
    "md": ("text/markdown; charset=utf-8", as_markdown),
}
