"""The runs of a sweep with their final held-out results: progress, effects of axes, the best configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median
from typing import Any

from engine.statistics.means import without_interval
from engine.sweeps import effects
from engine.sweeps.axes import RangeAxis
from engine.sweeps.effects import Best, Estimate
from engine.sweeps.plan import SweepPlan
from engine.sweeps.points import Point
from webapp.comparisons.selection import MOST_RUNS
from webapp.runs.models import Run
from webapp.runs.queue import slots
from webapp.runs.states import PRUNED, TERMINAL, RunState
from webapp.sweeps.models import PlannedRun, Sweep
from webapp.sweeps.trial_scores import scores_of

MEASURES = {"success": "Held-out success", "mean_return": "Held-out return"}
SHADES = 8  # of a heat map
RUN_FIELDS = (
    "id", "name", "state", "restart_pause", "step", "total_steps", "seconds", "verdict", "pruned", "end_cause",
    "finished_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A run of a configuration, or one that is still planned."""

    seed: int
    run: Run | None
    score: float | None
    problem: str
    pruned: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationRow:
    """A configuration with its seeds. `runs` are the ids of those that there are, for a link that compares them."""

    point: Point
    labels: list[str]
    members: list[Member]
    estimate: Estimate | None
    text: str
    is_best: bool = False
    pruned: str = ""

    @property
    def runs(self) -> str:
        return ",".join([one.run.pk for one in self.members if one.run is not None][:MOST_RUNS])


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """`rows` are labels of `down` with a cell for each label of `across`: text, shade and detail, or None."""

    across: str
    down: str
    columns: list[str]
    rows: list[tuple[str, list[dict[str, Any] | None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvement:
    """A configuration that was the best so far when its last seed had been trained. `number` counts complete ones."""

    number: int
    point: Point
    value: float


@dataclass
class SweepResults:
    """Everything is computed once, from as many queries as a sweep of one run takes."""

    sweep: Sweep
    measure: str = "success"
    environment: str = ""
    plan: SweepPlan = field(init=False)
    planned: list[PlannedRun] = field(init=False)
    _runs: dict[str, Run] = field(init=False)
    scores: dict[tuple[str, int], float] = field(init=False)

    def __post_init__(self) -> None:
        self.plan = self.sweep.parsed_plan()
        self.planned = list(self.sweep.planned.all())
        self._runs = {run.pk: run for run in Run.objects.filter(planned__sweep=self.sweep).only(*RUN_FIELDS)}
        self.scores = scores_of(self.sweep, self.measure, self.environment)

    @property
    def environments(self) -> list[str]:
        return [str(one["tag"]) for one in self.sweep.config["environments"]]

    def run_of(self, row: PlannedRun) -> Run | None:
        return self._runs.get(row.run_id or "")

    # --- progress

    def counts(self) -> dict[str, int]:
        """By state of the run; `planned` are those without one."""
        states = Counter(self._state_of(row) for row in self.planned)
        to_propose = self.left_to_propose() * len(self.plan.seeds)
        failed = states[RunState.FAILED] + states[RunState.CRASHED] + sum(bool(row.problem) for row in self.planned)
        ended = sum(states[state] for state in TERMINAL) + states["pruned"]
        return {
            "total": len(self.planned) + to_propose - states["dropped"],
            "finished": states[RunState.FINISHED],
            "failed": failed,
            "stopped": states[RunState.STOPPED],
            "pruned": states["pruned"],
            "planned": states["planned"] + to_propose,
            "live": len(self.planned) - ended - states["planned"] - states["dropped"],
            "ended": ended,
        }

    def _state_of(self, row: PlannedRun) -> str:
        """Dropped: never launched, as its configuration was pruned."""
        run = self.run_of(row)
        if run is None:
            return "dropped" if row.pruned else "planned"
        return run.shown_as if run.shown_as == PRUNED else run.state

    def left_to_propose(self) -> int:
        """Configurations that an adaptive search has yet to propose."""
        known = len({row.point_key for row in self.planned})
        return max(0, self.plan.points - known) if self.plan.method == "tpe" else 0

    def seconds_left(self) -> float | None:
        """By the steps of its own runs, at the limit of runs at once; None before any of them."""
        rates = [run.seconds / run.step for run in self._runs.values() if run.step and run.seconds]
        if not rates:
            return None
        steps = 0
        for row in self.planned:
            run = self.run_of(row)
            if row.pruned:
                continue
            if run is None:
                steps += int(row.changes.get("steps", self.sweep.config["steps"]))
            elif run.state not in TERMINAL:
                steps += max(0, run.total_steps - run.step)
        steps += self.left_to_propose() * len(self.plan.seeds) * int(self.sweep.config["steps"])
        return steps * median(rates) / min(self.sweep.at_once, slots())

    # --- what it says

    @cached_property
    def _points(self) -> list[Point]:
        found: dict[str, Point] = {}
        for row in self.planned:
            found.setdefault(row.point_key, row.point)
        position = {axis.name: self._positions(axis.name) for axis in self.plan.axes}
        return sorted(
            found.values(),
            key=lambda point: [position[name].get(str(point.labels.get(name)), -1) for name in position],
        )

    @property
    def _trained(self) -> list[Point]:
        """Without those that ended early, which have no final result."""
        pruned = self.pruned()
        return [point for point in self._points if point.key not in pruned]

    def _positions(self, axis: str) -> dict[str, float]:
        """Of each label on the axis: as the plan lists them, or by size where they were drawn."""
        for one in self.plan.axes:
            if one.name == axis and one.type != "range":
                return {level.label: index for index, level in enumerate(one.levels())}
        labels = {str(row.labels.get(axis)) for row in self.planned}
        return {label: float(label) for label in labels}

    @property
    def axes(self) -> list[str]:
        return [axis.name for axis in self.plan.axes]

    @cached_property
    def best(self) -> Best | None:
        return effects.best(self._points, self.plan.seeds, self.scores)

    def pruned(self) -> dict[str, str]:
        """Why, by key of each configuration that ended early."""
        return {row.point_key: row.pruned for row in self.planned if row.pruned}

    def improvements(self) -> list[Improvement]:
        """Configurations in the order in which they were complete, where the mean over their seeds was the best so
        far."""
        rows: dict[str, list[PlannedRun]] = {}
        for row in self.planned:
            rows.setdefault(row.point_key, []).append(row)
        complete = []
        for key, found in rows.items():
            values = [self.scores[key, row.seed] for row in found if (key, row.seed) in self.scores]
            runs = [run for row in found if (run := self.run_of(row)) is not None]
            times = [run.finished_at for run in runs if run.finished_at is not None]
            if len(values) == len(found) and times:
                complete.append((max(times), found[0].point, fmean(values)))
        history: list[Improvement] = []
        for number, (_, point, value) in enumerate(sorted(complete, key=lambda one: one[0]), 1):
            if not history or value > history[-1].value:
                history.append(Improvement(number=number, point=point, value=value))
        return history

    def history(self) -> list[tuple[Improvement, list[tuple[str, str]]]]:
        """Improvements with the labels of their axes."""
        return [(one, labelled(one.point, self.axes)) for one in self.improvements()]

    def configurations(self) -> list[ConfigurationRow]:
        """In the order of the axes."""
        by_point: dict[str, list[Member]] = {}
        for row in sorted(self.planned, key=lambda row: self.plan.seeds.index(row.seed)):
            member = Member(
                seed=row.seed,
                run=self.run_of(row),
                score=self.scores.get((row.point_key, row.seed)),
                problem=row.problem,
                pruned=row.pruned,
            )
            by_point.setdefault(row.point_key, []).append(member)
        best = self.best.point.key if self.best and self.best.compared > 1 else ""
        reasons = self.pruned()
        estimates = {point.key: effects.estimate([point], self.plan.seeds, self.scores) for point in self._points}
        return [
            ConfigurationRow(
                point=point,
                estimate=estimates[point.key],
                labels=[str(point.labels.get(name, "")) for name in self.axes],
                members=by_point[point.key],
                text=self._text_of(estimates[point.key]),
                is_best=point.key == best,
                pruned=reasons.get(point.key, ""),
            )
            for point in self._points
        ]

    def _text_of(self, one: Estimate | None) -> str:
        return estimate_text(one, share=self.measure == "success") if one else "–"

    def charts(self) -> list[dict[str, Any]]:
        """For each axis what its chart draws: the means over the other axes and seeds by level, or, of a range with
        drawn values, each configuration."""
        found = []
        for axis in self.plan.axes:
            levels = effects.effect(axis.name, self._trained, self.plan.seeds, self.scores)
            ordered = sorted(levels.items(), key=lambda item: self._positions(axis.name)[item[0]])
            points = [
                {
                    "label": label, "mean": one.mean, "low": one.low, "high": one.high, "seeds": one.seeds,
                    "runs": one.runs,
                }
                for label, one in ordered
                if one is not None
            ]  # fmt: skip
            drawn = isinstance(axis, RangeAxis)
            log = isinstance(axis, RangeAxis) and axis.scale == "log"
            found.append({"axis": axis.name, "points": points, "drawn": drawn, "log": log})
        return found

    def heat_map(self, across: str, down: str) -> HeatMap | None:
        """Of two axes with levels; None for ranges with drawn values, or before there is a result."""
        levelled = [axis.name for axis in self.plan.axes if axis.type != "range"]
        if len(levelled) < 2 or not self.scores:
            return None
        across = across if across in levelled else levelled[0]
        down = down if down in levelled and down != across else next(name for name in levelled if name != across)
        cells = effects.interaction(across, down, self._trained, self.plan.seeds, self.scores)
        means = [one.mean for one in cells.values() if one is not None]
        low, high = min(means), max(means)
        columns, lines = list(self._positions(across)), list(self._positions(down))
        return HeatMap(
            across=across,
            down=down,
            columns=columns,
            rows=[
                (line, [self._cell(cells.get((column, line)), low, high) for column in columns])
                for line in lines
            ],
        )  # fmt: skip

    def _cell(self, one: Estimate | None, low: float, high: float) -> dict[str, Any] | None:
        if one is None:
            return None
        share = (one.mean - low) / (high - low) if high > low else 0.5
        return {"text": f"{one.mean:.2f}", "shade": round(SHADES * share), "detail": self._text_of(one)}


def estimate_text(one: Estimate, *, share: bool) -> str:
    """`0.64 [0.59, 0.69], 3 seeds`. The interval of a `share` is cut at 0 and 1."""
    seeds = f"{one.seeds} seed{'' if one.seeds == 1 else 's'}"
    if not one.seeds:
        return f"{one.mean:.2f}, {one.runs} runs, no seed complete"
    if one.low is None or one.high is None:
        return f"{one.mean:.2f}, {without_interval(one.seeds, 'seed')}"
    low, high = (max(0.0, one.low), min(1.0, one.high)) if share else (one.low, one.high)
    return f"{one.mean:.2f} [{low:.2f}, {high:.2f}], {seeds}"


def labelled(point: Point, axes: Sequence[str]) -> list[tuple[str, str]]:
    labels: Mapping[str, str] = point.labels
    return [(axis, str(labels.get(axis, ""))) for axis in axes]
