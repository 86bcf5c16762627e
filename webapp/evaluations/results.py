"""Held-out results of compared runs: the newest of each run, and any two evaluations that the reader chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from webapp.evaluations.evaluation_difference import Difference, difference
from webapp.evaluations.models import Evaluation
from webapp.rates import percent
from webapp.runs.models import Run

SEPARATOR = "@"  # in an address: `<run>@<step>`
MOST_CHOICES = 40  # of a run, besides its last


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The newest evaluation of each run on an environment; for two runs also their difference."""

    environment: str
    cells: list[Evaluation | None]
    difference: Difference | None = None

    @property
    def shown_cells(self) -> list[dict[str, Any] | None]:
        return [_shown(cell) if cell else None for cell in self.cells]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A step of a run that has evaluations, and its key in the address."""

    key: str
    run: Run
    step: int
    final: bool

    @property
    def label(self) -> str:
        return f"step {self.step}{', final' if self.final else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPair:
    """Two chosen steps with their difference on each environment that both were evaluated on."""

    choices: list[Choice]
    first: str = ""
    other: str = ""
    rows: Sequence[tuple[Evaluation, Evaluation, Difference]] = ()


def results(runs: list[Run]) -> list[Result]:
    """One row per environment on which any of the runs was evaluated."""
    keys = Evaluation.objects.filter(run__in=runs, episodes__gt=0).order_by("final", "step", "requested")
    newest = {(run, name): pk for run, name, pk in keys.values_list("run_id", "environment", "pk")}
    found = _rows(runs, Q(pk__in=newest.values()))
    names = sorted({name for _, name in newest})
    return [_result(name, [_of(found, run, name) for run in runs]) for name in names]


def chosen_pair(runs: list[Run], query: Mapping[str, str]) -> ChosenPair:
    """The steps `first` and `other` of the address. By default the newest of a single run and its first."""
    all_choices = _choices(runs)
    first, other = (_known(query.get(name, ""), all_choices) for name in ("first", "other"))
    if not first and not other and len(runs) == 1 and len(all_choices) > 1:
        keys = list(all_choices)
        first, other = keys[-1], keys[0]
    choices = _offered(all_choices, {first, other})
    if not first or not other or first == other:
        newest = [*{choice.run.pk: choice.key for choice in all_choices.values()}.values(), "", ""]
        return ChosenPair(choices=choices, first=first or newest[0], other=other or newest[1])
    ones, others = (_evaluations(runs, all_choices[key]) for key in (first, other))
    pairs = [(ones[name], others[name]) for name in sorted(ones.keys() & others.keys())]
    rows = [(one, row, difference(one, row)) for one, row in pairs]
    return ChosenPair(choices=choices, first=first, other=other, rows=rows)


def _choices(runs: list[Run]) -> dict[str, Choice]:
    """Every step with an evaluation, run by run, by its key."""
    steps = Evaluation.objects.filter(run__in=runs, episodes__gt=0).order_by("step", "final")
    by_run: dict[str, dict[int, bool]] = {}
    for run_id, step, final in steps.values_list("run_id", "step", "final"):
        by_run.setdefault(run_id, {})[step] = final
    return {
        f"{run.pk}{SEPARATOR}{step}": Choice(key=f"{run.pk}{SEPARATOR}{step}", run=run, step=step, final=final)
        for run in runs
        for step, final in by_run.get(run.pk, {}).items()
    }


def _offered(choices: Mapping[str, Choice], chosen: set[str]) -> list[Choice]:
    """The first and the newest of each run, the chosen ones, and of a long run some in between."""
    by_run: dict[str, list[Choice]] = {}
    for choice in choices.values():
        by_run.setdefault(choice.run.pk, []).append(choice)
    offered = []
    for found in by_run.values():
        last, every = len(found) - 1, -(-len(found) // MOST_CHOICES)
        offered += [one for index, one in enumerate(found) if index % every == 0 or index == last or one.key in chosen]
    return offered


def _known(key: str, choices: Mapping[str, Choice]) -> str:
    return key if key in choices else ""


def _evaluations(runs: list[Run], choice: Choice) -> dict[str, Evaluation]:
    """Those of a step, by environment; the final one counts, then the requested one."""
    found = _rows(runs, Q(run=choice.run, step=choice.step, episodes__gt=0))
    return {row.environment: row for row in sorted(found, key=lambda row: (row.final, row.requested))}


def _rows(runs: list[Run], which: Q) -> list[Evaluation]:
    """With the runs that are loaded already: reading their configurations again takes longer than all else."""
    by_id = {run.pk: run for run in runs}
    rows = list(Evaluation.objects.filter(which))
    for row in rows:
        row.run = by_id[row.run_id]
    return rows


def _of(rows: list[Evaluation], run: Run, environment: str) -> Evaluation | None:
    return next((row for row in rows if row.run_id == run.pk and row.environment == environment), None)


def _result(environment: str, cells: list[Evaluation | None]) -> Result:
    if len(cells) != 2 or cells[0] is None or cells[1] is None:
        return Result(environment=environment, cells=cells)
    return Result(environment=environment, cells=cells, difference=difference(cells[0], cells[1]))


def _shown(cell: Evaluation) -> dict[str, Any]:
    return {
        "success": percent(cell.success),
        "low": percent(cell.low),
        "high": percent(cell.high),
        "solved": f"{cell.successes}/{cell.episodes}",
        "faults": cell.faults,
        "trained_on": cell.trained_on,
        "step": cell.step,
        "lineage_step": cell.run.ancestor_steps + cell.step,
        "final": cell.final,
    }
