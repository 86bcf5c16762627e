"""`python -m benchmarks.science.slow_collapse FOLDER`: what pilot runs say about a slow collapse.

FOLDER has run directories, one a pilot. They join those in `docs/findings/slow_collapse.json`, by name; the table and
the figure of `docs/findings/slow_collapse.md` are of all of them. Without FOLDER both are made again from that file.
`--drop NAME` takes a pilot out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.scaling.__main__ import filled
from benchmarks.science.__main__ import FINDINGS
from benchmarks.science.pilots import (
    ENTROPY,
    MI,
    STD,
    SUCCESS,
    TOKEN_ENTROPY,
    WELL_FORMED,
    Pilot,
    outcome_of,
    read_pilot,
    thinned,
)
from benchmarks.science.plot import COLOURS, plot_curves

HEAD = (
    "pilot", "settings", "seed", "steps", "CPU minutes", "H(Z\\|X)", "per token", "MI / ln N", "success", "reward std",
    "well-formed", "outcome",
)  # fmt: skip
CHANGES = (ENTROPY, TOKEN_ENTROPY, MI, SUCCESS, STD, WELL_FORMED)
BONUS = 0.005  # the entropy bonus of the pilots with chance in the environment
WINDOW = 40  # steps that a column of their table is the mean of
CURVES = (MI, ENTROPY, SUCCESS, STD)

Stored = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="folder of run directories")
    parser.add_argument("--findings", type=Path, default=FINDINGS, help="folder of slow_collapse.md and its data")
    parser.add_argument("--drop", action="append", default=[], metavar="NAME", help="pilot to leave out")
    options = parser.parse_args()
    data = options.findings / "slow_collapse.json"
    stored = json.loads(data.read_text()) if data.exists() else []
    stored = merged(stored, pilots_in(options.folder) if options.folder else [], drop=options.drop)
    lines = ",\n".join(json.dumps(one) for one in stored)
    data.write_text(f"[{lines}]\n")
    page = options.findings / "slow_collapse.md"
    tables = {"pilots": table(stored), "totals": totals(stored), "course": course_table(stored)}
    page.write_text(filled(page.read_text(), tables))
    draw(stored, options.findings / "slow_collapse.svg")
    sys.stdout.write(f"{table(stored)}\n\n{totals(stored)}\n")
    return 0


def pilots_in(folder: Path) -> list[Stored]:
    """Those with a step, in the order of their names."""
    found = [path for path in sorted(folder.iterdir()) if (path / "config.json").exists()]
    return [as_stored(read_pilot(path)) for path in found if '"metrics"' in (path / "events.jsonl").read_text()]


def merged(stored: Sequence[Stored], new: Sequence[Stored], *, drop: Sequence[str] = ()) -> list[Stored]:
    """A new one takes the position of the stored one of its name, else it comes last."""
    by_name = {one["name"]: one for one in (*stored, *new)}
    return [rejudged(one) for name, one in by_name.items() if name not in drop]


def rejudged(one: Stored) -> Stored:
    """By today's definition, so that pilots of different days compare."""
    outcome = outcome_of(one["steps"], one["lost_at"], one["before"].__getitem__, one["after"].__getitem__)
    return one | {"outcome": outcome}


def as_stored(pilot: Pilot) -> Stored:
    return {
        "name": pilot.name,
        "preset": pilot.preset,
        "settings": pilot.settings,
        "seed": pilot.seed,
        "steps": pilot.steps,
        "minutes": pilot.minutes,
        "outcome": pilot.outcome,
        "lost_at": pilot.lost_at,
        "before": {name: round(pilot.before(name), 4) for name in pilot.curves},
        "after": {name: round(pilot.after(name), 4) for name in pilot.curves},
        "curves": {name: thinned(points) for name, points in pilot.curves.items()},
    }


def table(stored: Sequence[Stored]) -> str:
    return "\n".join([f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|", *(row(one) for one in stored)])


def row(one: Stored) -> str:
    changes = [f"{one['before'][name]:.3g} → {one['after'][name]:.3g}" for name in CHANGES]
    settings = ", ".join(f"{short(field)} {value}" for field, value in one["settings"].items())
    cells = [one["name"], f"{one['preset']}: {settings}", one["seed"], one["steps"], f"{one['minutes']:.1f}", *changes]
    return f"| {' | '.join(str(cell) for cell in cells)} | {one['outcome']} |"


def course_table(stored: Sequence[Stored]) -> str:
    """MI / ln N of the pilots with the entropy bonus of the cause, and their H(Z|X) in parentheses."""
    shown = [one for one in stored if one["settings"].get("loss.entropy_coefficient") == BONUS]
    starts = range(1, max((one["steps"] for one in shown), default=0) + 1, WINDOW)
    lines = [f"| steps | {' | '.join(str(start) for start in starts)} |", "|---" * (1 + len(starts)) + "|"]
    for one in shown:
        cells = [f"{_within(one, MI, start, '.2f')} ({_within(one, ENTROPY, start, '.1f')})" for start in starts]
        lines.append(f"| {one['name']} | {' | '.join('' if '–' in cell else cell for cell in cells)} |")
    return "\n".join(lines)


def _within(one: Stored, metric: str, start: int, digits: str) -> str:
    values = [value for step, value in one["curves"][metric] if start <= step < start + WINDOW]
    return f"{fmean(values):{digits}}" if values else "–"


def short(field: str) -> str:
    """The last part of a field's name, with the part before it where that alone says little."""
    parts = field.split(".")
    return ".".join(parts[-2:] if parts[-1] in ("type", "value", "mode") else parts[-1:])


def totals(stored: Sequence[Stored]) -> str:
    minutes = sum(one["minutes"] for one in stored)
    outcomes = sorted({one["outcome"] for one in stored})
    counts = [f"{sum(one['outcome'] == outcome for one in stored)} {outcome}" for outcome in outcomes]
    return (
        "| pilots | CPU hours | outcomes |\n|---|---|---|\n"
        f"| {len(stored)} | {minutes / 60:.2f} of 30 | {', '.join(counts)} |"
    )


def draw(stored: Sequence[Stored], path: Path) -> None:
    """The longest pilots, as many as there are colours."""
    longest = sorted(stored, key=lambda one: -one["steps"])[: len(COLOURS)]
    if longest:
        results = [{"arm": one["name"], "curves": one["curves"]} for one in longest]
        plot_curves(CURVES, [one["name"] for one in longest], results, path)


if __name__ == "__main__":
    sys.exit(main())
