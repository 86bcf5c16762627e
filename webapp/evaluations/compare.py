"""Runs side by side: which, in which colours, with which metrics; how their configurations and final results differ."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webapp.evaluations.intervals import Interval, newcombe
from webapp.evaluations.leaderboard import percent
from webapp.evaluations.models import Evaluation
from webapp.runs.models import Run

MOST_RUNS = 8
COLOURS = 8
AXES = {"step": "Step", "tokens": "Tokens", "time": "Time"}
FIRST_METRICS = ["rollout/success", "reward/mean", "policy/entropy", "optim/grad_norm"]
ROWS_READ_FOR_KEYS = 20
USUAL_SMOOTHING = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the URL asks for, put right where it makes no sense."""

    runs: list[Run]
    missing: list[str]
    metrics: list[str]
    axis: str
    smoothing: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One environment's newest evaluation of each run; for two runs that can be compared, the difference."""

    environment: str
    cells: list[Evaluation | None]
    difference: float | None = None
    interval: Interval | None = None
    note: str = ""

    @property
    def shown_cells(self) -> list[dict[str, Any] | None]:
        return [_shown(cell) if cell else None for cell in self.cells]

    @property
    def words(self) -> str:
        """The difference as a sentence; empty where there is none to speak of."""
        if self.difference is None or self.interval is None:
            return ""
        low, high = (f"{end * 100:+.1f}" for end in self.interval)
        verdict = "not told apart" if self.interval.contains(0.0) else "told apart"
        return f"{self.difference * 100:+.1f} points ({low} to {high}): {verdict}"


def _shown(cell: Evaluation) -> dict[str, Any]:
    return {
        "success": percent(cell.success),
        "low": percent(cell.low),
        "high": percent(cell.high),
        "solved": f"{cell.successes}/{cell.episodes}",
        "faults": cell.faults,
        "step": cell.step,
        "final": cell.final,
    }


def read_view(query: Mapping[str, str]) -> View:
    asked = list(dict.fromkeys(part for part in query.get("runs", "").split(",") if part))[:MOST_RUNS]
    found = Run.objects.in_bulk(asked)
    metrics = [part for part in query.get("metrics", "").split(",") if part] or FIRST_METRICS
    axis = query.get("x", "step")
    return View(
        runs=[found[pk] for pk in asked if pk in found],
        missing=[pk for pk in asked if pk not in found],
        metrics=list(dict.fromkeys(metrics))[:12],
        axis=axis if axis in AXES else "step",
        smoothing=_smoothing(query.get("smoothing", "")),
    )


def colours(runs: list[Run]) -> list[int]:
    """A series colour, 1 to 8, per run: the one that its id gives, or the next that no run before it has."""
    taken: list[int] = []
    for run in runs:
        wanted = zlib.crc32(run.pk.encode()) % COLOURS
        free = (slot for slot in ((wanted + step) % COLOURS + 1 for step in range(COLOURS)) if slot not in taken)
        taken.append(next(free, wanted + 1))
    return taken


def metric_names(runs: list[Run]) -> list[str]:
    """Every metric that the newest steps of any of the runs report; some come only every few steps."""
    names: set[str] = set()
    for run in runs:
        newest = run.steps.order_by("-step").values_list("metrics", flat=True)[:ROWS_READ_FOR_KEYS]
        names.update(key for metrics in newest for key in metrics)
    return sorted(names)


def results(runs: list[Run]) -> list[Result]:
    """A row per environment that any of the runs was evaluated on."""
    newest: dict[str, dict[str, Evaluation]] = {}
    for row in Evaluation.objects.filter(run__in=runs).order_by("final", "step"):
        newest.setdefault(row.environment, {})[row.run_id] = row
    return [_result(name, [by_run.get(run.pk) for run in runs]) for name, by_run in sorted(newest.items())]


def _result(environment: str, cells: list[Evaluation | None]) -> Result:
    if len(cells) != 2 or cells[0] is None or cells[1] is None:
        return Result(environment=environment, cells=cells)
    first, other = cells[0], cells[1]
    if note := _why_not_comparable(first, other):
        return Result(environment=environment, cells=cells, note=note)
    return Result(
        environment=environment,
        cells=cells,
        difference=first.success - other.success,
        interval=newcombe(first.successes, first.episodes, other.successes, other.episodes),
    )


def _why_not_comparable(first: Evaluation, other: Evaluation) -> str:
    mine, its = _environment_config(first), _environment_config(other)
    if mine != its:
        keys = sorted(key for key in {*mine, *its} if mine.get(key) != its.get(key))
        return f"Not comparable: the environments differ in {', '.join(keys)}."
    for name, words in (("first_seed", "first seed"), ("temperature", "temperature")):
        if getattr(first, name) != getattr(other, name):
            return f"Not comparable: {words} {getattr(first, name)} and {getattr(other, name)}."
    return ""


def _environment_config(row: Evaluation) -> dict[str, Any]:
    configs = row.run.config.get("environments", [])
    return next((config for config in configs if config.get("tag") == row.environment), {})


def _smoothing(text: str) -> float:
    try:
        asked = float(text)
    except ValueError:
        return USUAL_SMOOTHING
    return min(max(asked, 0.0), 0.99) if math.isfinite(asked) else USUAL_SMOOTHING
