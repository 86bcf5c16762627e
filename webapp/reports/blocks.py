"""What a block of a report shows: the data of its template, made at each visit, or a problem in a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import SuspiciousOperation
from django.http import QueryDict

from engine.errors import RunDirectoryError
from engine.metrics import describe
from webapp.comparisons import page as comparison
from webapp.comparisons.alert_table import alert_table, alerted
from webapp.comparisons.final_metrics import final_metrics
from webapp.comparisons.group_curves import group_curves
from webapp.comparisons.page import View
from webapp.comparisons.shared_trajectories import shared_problems
from webapp.projects.access import readable
from webapp.reports.line_chart import AXES, Drawn, Look, line_chart
from webapp.reports.markdown import Block
from webapp.trajectories import services as trajectories
from webapp.trajectories.models import Trajectory

COMPARISON = "/compare/"
TRAJECTORY = re.compile(r"/runs/([0-9a-z]{1,10})/trajectories/(\d{1,18})/?")
LONGEST_ADDRESS = 4000
MOST_TURNS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """`data` is for the template of the kind; with a `problem` there is none. `address` opens the same on the site."""

    kind: str
    address: str
    data: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    live: bool = False


def show(block: Block) -> Shown:
    if "\n" in block.address or len(block.address) > LONGEST_ADDRESS:
        return _problem(block, f"A block has one address, on one line of up to {LONGEST_ADDRESS} characters.")
    try:
        parts = urlsplit(block.address)
        query = QueryDict(parts.query)
    except (ValueError, SuspiciousOperation):
        return _problem(block, f"{block.address[:80]!r} is not an address.")
    address = parts.path + (f"?{parts.query}" if parts.query else "")
    if block.kind == "trajectory":
        return _trajectory(block, parts.path)
    if parts.path != COMPARISON:
        return _problem(
            block, f"{block.address[:80]!r} is not a comparison. Copy an address that begins with /compare/?"
        )
    view = comparison.read_view(query)
    if not view.runs:
        gone = f" ({', '.join(view.selection.missing[:5])})" if view.selection.missing else ""
        return _problem(block, f"None of the runs of this {block.kind} exists any more, or none was named{gone}.")
    return Shown(
        kind=block.kind,
        address=address,
        data={"view": view, "notes": _notes(view), **_DATA[block.kind](view, query)},
        live=any(not run.is_terminal for run in view.runs),
    )


def _notes(view: View) -> list[str]:
    gone = [f"Run {pk} does not exist any more and was left out." for pk in view.selection.missing]
    return [*gone, *view.selection.notes]


def _chart(view: View, query: QueryDict) -> dict[str, Any]:
    look = _look(query)
    hidden = set(query.get("hidden", "").split(","))
    drawn: list[tuple[str, int, int, list[Any]]] = []
    grouped: set[int] = set()
    for group in view.groups:
        members = [view.runs[index] for index in group.members if view.runs[index].pk not in hidden]
        grouped.update(group.members)
        if members:
            drawn.append((f"{group.name} (n = {len(members)})", group.colour, group.dash, members))
    for index, (run, dash) in enumerate(zip(view.runs, view.dashes, strict=True)):
        if index not in grouped and run.pk not in hidden:
            drawn.append((run.name, run.colour, dash, [run]))
    curves = group_curves([members for *_, members in drawn], view.metrics, view.band)
    scales = _scales(query)
    charts = [
        line_chart(
            metric,
            [
                Drawn(name=name, colour=colour, dash=dash, curve=curve[metric])
                for (name, colour, dash, _), curve in zip(drawn, curves, strict=True)
            ],
            Look(**{**look, "log": scales.get(metric, describe(metric).log)}),
        )
        for metric in view.metrics
    ]
    band = comparison.BANDS[view.band] if any(len(members) > 1 for *_, members in drawn) else ""
    return {"charts": charts, "band": band}


def _look(query: QueryDict) -> dict[str, Any]:
    axis = query.get("x", "step")
    found: dict[str, Any] = {"axis": axis if axis in AXES else "step"}
    try:
        found["smoothing"] = min(0.99, max(0.0, float(query.get("smoothing", "0.6"))))
    except ValueError:
        found["smoothing"] = 0.6
    try:
        low, high = map(float, query.get("zoom", "").split(".."))
    except ValueError:
        return found
    return {**found, "window": (low, high)} if low < high and axis in AXES else found


def _scales(query: QueryDict) -> dict[str, bool]:
    """Metrics whose axis the address sets to logarithmic or linear."""
    return {metric: name == "log" for name in ("log", "linear") for metric in query.get(name, "").split(",") if metric}


def _metrics(view: View, query: QueryDict) -> dict[str, Any]:
    metrics = final_metrics(view.runs, view.metrics)
    return {
        "metrics": metrics,
        "rows": [(run, [metric.values[index] for metric in metrics]) for index, run in enumerate(view.runs)],
    }


def _settings(view: View, query: QueryDict) -> dict[str, Any]:
    if len(view.runs) < 2:
        return {"differing": [], "too_few": True}
    return {"differing": view.differences.differing}


def _alerts(view: View, query: QueryDict) -> dict[str, Any]:
    runs = alerted(view.runs)
    return {"alerts": alert_table(runs), "alerted": runs, "without_alerts": len(view.runs) - len(runs)}


def _problems(view: View, query: QueryDict) -> dict[str, Any]:
    return {"shared": shared_problems(view.runs)}


_DATA: dict[str, Callable[[View, QueryDict], dict[str, Any]]] = {
    "chart": _chart,
    "metrics": _metrics,
    "settings": _settings,
    "alerts": _alerts,
    "problems": _problems,
}


def _trajectory(block: Block, path: str) -> Shown:
    found = TRAJECTORY.fullmatch(path)
    if not found:
        return _problem(
            block, f"{block.address[:80]!r} is not a trajectory. Copy an address such as /runs/4acd…/trajectories/12/."
        )
    row = readable(Trajectory.all_attempts.select_related("run").filter(run=found[1], pk=int(found[2]))).first()
    if row is None:
        return _problem(block, "This trajectory does not exist any more.")
    try:
        record = trajectories.record(row)
    except RunDirectoryError as error:
        return _problem(block, f"This trajectory cannot be read: {error.message} {error.remedy}".strip())
    turns = list(record.get("turns", []))
    data = {"row": row, "turns": turns[:MOST_TURNS], "more": max(0, len(turns) - MOST_TURNS)}
    return Shown(kind=block.kind, address=path, data=data)


def _problem(block: Block, problem: str) -> Shown:
    return Shown(kind=block.kind, address="", problem=problem)
