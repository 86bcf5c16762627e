"""The metrics of a comparison as a table: of each run the last and the best value, and of held-out success the final
result with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.metrics import describe
from webapp.comparisons.group_curves import HELD_OUT
from webapp.evaluations.models import Evaluation
from webapp.runs.models import MetricName, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """`last` and `best` as texts; `note` says what there is besides, such as an interval."""

    last: str = ""
    best: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    name: str
    title: str
    values: list[Value]


def final_metrics(runs: Sequence[Run], metrics: Sequence[str]) -> list[MetricRow]:
    known = {
        (run_id, name): (last, lowest, highest)
        for run_id, name, last, lowest, highest in MetricName.objects.filter(
            run__in=runs, name__in=metrics
        ).values_list("run_id", "name", "last", "lowest", "highest")
    }
    evaluations = _evaluations(runs, metrics)
    rows = []
    for name in metrics:
        entry = describe(name)
        tag = found[1] if (found := HELD_OUT.fullmatch(name)) else ""
        values = []
        for run in runs:
            if tag and (run.pk, tag) in evaluations:
                values.append(_held_out(evaluations[run.pk, tag]))
            elif (run.pk, name) in known:
                values.append(_reported(*known[run.pk, name], entry.better))
            else:
                values.append(Value())
        rows.append(MetricRow(name=name, title=entry.title, values=values))
    return rows


def outcomes(runs: Sequence[Run], metric: str) -> list[float | None]:
    """Of each run the newest value of `metric`; of a held-out success that of its newest evaluation, if it has any."""
    if tag := HELD_OUT.fullmatch(metric):
        found = _evaluations(runs, [metric])
        return [_newest(found[run.pk, tag[1]]).success if (run.pk, tag[1]) in found else None for run in runs]
    last = dict(MetricName.objects.filter(run__in=runs, name=metric).values_list("run_id", "last"))
    return [last.get(run.pk) for run in runs]


def _reported(last: float | None, lowest: float | None, highest: float | None, better: str | None) -> Value:
    best = {"lower": lowest, "higher": highest}.get(better or "")
    between = "" if better or lowest is None or highest is None else f"{lowest:.4g} to {highest:.4g}"
    return Value(
        last="" if last is None else f"{last:.4g}",
        best="" if best is None else f"{best:.4g}",
        note=between,
    )


def _held_out(rows: Sequence[Evaluation]) -> Value:
    last = _newest(rows)
    best = max(rows, key=lambda row: row.success)
    interval = f"{last.low:.3f}–{last.high:.3f}"
    final = "final" if last.final else f"step {last.step}"
    return Value(last=f"{last.success:.3f}", best=f"{best.success:.3f}", note=f"{interval}, {final}")


def _newest(rows: Sequence[Evaluation]) -> Evaluation:
    return max(rows, key=lambda row: (row.step, row.final))


def _evaluations(runs: Sequence[Run], metrics: Sequence[str]) -> dict[tuple[str, str], list[Evaluation]]:
    tags = [found[1] for metric in metrics if (found := HELD_OUT.fullmatch(metric))]
    rows = Evaluation.objects.filter(run__in=runs, environment__in=tags, requested=False, episodes__gt=0)
    found_rows: dict[tuple[str, str], list[Evaluation]] = {}
    for row in rows.defer("solved"):
        found_rows.setdefault((row.run_id, row.environment), []).append(row)
    return found_rows
