"""The rows of the list of runs: one for each run, or for each configuration with its seeds folded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.fields.json import KeyTransform

from engine.statistics.means import t_interval, without_interval
from webapp.evaluations.models import Evaluation
from webapp.run_pages.arrangement import MOST_UNFOLDED, Line
from webapp.run_pages.columns import Column, alias, measured, number
from webapp.runs.models import Run, StepMetrics
from webapp.runs.queue import Standing, standings
from webapp.runs.verdicts import Status, health_of

SPARK_POINTS = 40
MOST_LISTED = 4  # different values of one column of a folded configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    run: Run
    health: Status | None
    environment: str
    success: float | None
    held_out: Evaluation | None
    spark: str  # the path of a small SVG
    progress: float
    standing: Standing | None = None  # in the queue
    depth: int = 0
    cells: list[tuple[Column, str]] = field(default_factory=list)  # with its text, unless it has a template


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Of one column over the runs of a configuration; `detail` is its tooltip."""

    column: Column
    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedRow:
    """A configuration, with as many runs as differ in nothing but their seed."""

    config_key: str
    count: int
    is_open: bool
    hidden: int  # of its runs, too many to be shown or ticked
    members: str  # the IDs of the others, separated by commas
    summaries: list[Summary]


def rows_of(lines: Sequence[Line], runs: QuerySet[Run], columns: Sequence[Column]) -> list[RunRow | FoldedRow]:
    """A row for each line, with as many queries for all of them as for one. `runs` are all that the list is of."""
    shown = _shown_runs([line.run_id for line in lines if line.run_id], columns)
    rows = {row.run.pk: row for row in _run_rows(shown, columns)}
    depths = {line.run_id: line.depth for line in lines}
    summaries = _summaries(lines, runs, columns)
    found: list[RunRow | FoldedRow] = []
    for line in lines:
        if line.config_key:
            members = line.members[:MOST_UNFOLDED]
            found.append(
                FoldedRow(
                    config_key=line.config_key,
                    count=len(line.members),
                    is_open=line.is_open,
                    hidden=len(line.members) - len(members),
                    members=",".join(members),
                    summaries=summaries[line.config_key],
                )
            )
        elif line.run_id in rows:  # it may have been deleted meanwhile
            found.append(_indented(rows[line.run_id], depths[line.run_id]))
    return found


def spark_path(values: list[float], *, width: int = 84, height: int = 22) -> str:
    """Success from 0 to 1 as an SVG path; empty for fewer than two points."""
    if len(values) < 2:
        return ""
    across = width / (len(values) - 1)
    points = [f"{i * across:.1f},{height - 1 - value * (height - 2):.1f}" for i, value in enumerate(values)]
    return "M" + " L".join(points)


def _shown_runs(ids: list[str], columns: Iterable[Column]) -> list[Run]:
    runs = Run.objects.select_related("owner", "project", "environment_version__definition", "forked_from")
    return list(runs.filter(pk__in=ids).annotate(**measured(columns)).prefetch_related("tags"))


def _run_rows(runs: list[Run], columns: Sequence[Column]) -> list[RunRow]:
    evaluations = _latest_evaluations(runs)
    curves = _success_curves(runs)
    queue = standings(runs)
    return [
        RunRow(
            run=run,
            health=health_of(run),
            environment=str(run.environment_version or ", ".join(e["tag"] for e in run.config["environments"])),
            success=run.metrics.get("rollout/success"),
            held_out=evaluations.get(run.pk),
            standing=queue.get(run.pk),
            spark=spark_path(curves.get(run.pk, [])),
            progress=run.step / run.total_steps if run.total_steps else 0.0,
            cells=[(column, _text(column, run)) for column in columns],
        )
        for run in runs
    ]


def _indented(row: RunRow, depth: int) -> RunRow:
    return row if not depth else RunRow(**{**{name: getattr(row, name) for name in row.__slots__}, "depth": depth})


def _text(column: Column, run: Run) -> str:
    if column.text is None:
        return ""
    value = getattr(run, alias(column))
    return "–" if value is None else column.text(value)


def _summaries(lines: Iterable[Line], runs: QuerySet[Run], columns: Sequence[Column]) -> dict[str, list[Summary]]:
    keys = [line.config_key for line in lines if line.config_key]
    if not keys:
        return {}
    of_columns = {alias(column): column.order for column in columns if column.numeric}
    plain = [column.plain for column in columns if column.plain]
    members = runs.filter(listed__config_key__in=keys).annotate(**of_columns)
    values: dict[str, list[Mapping[str, Any]]] = {}
    for row in members.order_by("-created_at").values("listed__config_key", *of_columns, *plain):
        values.setdefault(row["listed__config_key"], []).append(row)
    return {key: [_summary(column, rows) for column in columns] for key, rows in values.items()}


def _summary(column: Column, rows: list[Mapping[str, Any]]) -> Summary:
    if column.numeric:
        return _mean(column, [row[alias(column)] for row in rows if row[alias(column)] is not None])
    if not column.plain:
        return Summary(column=column, text="")
    counts = Counter(row[column.plain] for row in rows if row[column.plain] not in (None, ""))
    if column.key in ("state", "health"):
        words = [f"{count} {one.replace('_', ' ')}" for one, count in counts.most_common()]
        return Summary(column=column, text=", ".join(words))
    found = sorted(counts)
    more = f" and {len(found) - MOST_LISTED} more" if len(found) > MOST_LISTED else ""
    return Summary(column=column, text=", ".join(map(str, found[:MOST_LISTED])) + more)


def _mean(column: Column, values: list[float]) -> Summary:
    """The mean over runs, with the half width of its 95% interval."""
    if not values:
        return Summary(column=column, text="–")
    mean, interval = fmean(values), t_interval(values)
    if column.key == "progress":
        return Summary(column=column, text=f"{mean:.0%}", detail=f"Mean of {len(values)} runs")
    if interval is None:
        over = without_interval(len(values), "run").capitalize()
        return Summary(column=column, text=number(mean), detail=f"{over}, which gives no interval")
    detail = f"Mean of {len(values)} runs, 95% interval {interval.low:.3g} to {interval.high:.3g} by Student's t"
    half = (interval.high - interval.low) / 2
    return Summary(column=column, text=_with_half_width(mean, half), detail=detail)


def _with_half_width(mean: float, half: float) -> str:
    """`0.64 ± 0.20`: two digits of the half width, and as many decimals of the mean."""
    decimals = max(0, 1 - math.floor(math.log10(half)))
    return f"{mean:.{decimals}f} ± {half:.{decimals}f}"


def _latest_evaluations(runs: list[Run]) -> dict[str, Evaluation]:
    found: dict[str, Evaluation] = {}
    rows = Evaluation.objects.filter(run__in=runs, requested=False).order_by("step", "final", "pk")
    for evaluation in rows.defer("solved"):
        found[evaluation.run_id] = evaluation
    return found


def _success_curves(runs: list[Run]) -> dict[str, list[float]]:
    """Up to forty evenly spaced points of training success per run, including the newest."""
    wanted = Q(pk__in=[])
    for run in runs:
        every = max(1, run.step // SPARK_POINTS)
        wanted |= Q(run=run, step__in=range(run.step, 0, -every))
    curves: dict[str, list[float]] = {}
    success = KeyTransform("rollout/success", "metrics")
    for run_id, value in StepMetrics.objects.filter(wanted).order_by("step").values_list("run_id", success):
        curves.setdefault(run_id, []).append(float(value or 0.0))
    return curves
