"""Held-out problems that several of the compared runs played last, with a trajectory of each to open side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Max, Q

from webapp.environments.differences import with_defaults
from webapp.runs.models import Run
from webapp.trajectories.comparison import MOST
from webapp.trajectories.models import Trajectory

MOST_PROBLEMS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """`cells` have the trajectory of each run, or None; `ids` are those that are shown side by side."""

    environment: str
    seed: int
    cells: list[Trajectory | None]

    @property
    def ids(self) -> str:
        return ",".join([str(one.pk) for one in self.cells if one is not None][:MOST])

    @property
    def differs(self) -> bool:
        return len({one.success for one in self.cells if one is not None}) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedProblems:
    """`total` problems were recorded for two runs or more, and `differing` of them solved by some only."""

    problems: list[Problem]
    total: int
    differing: int


def shared_problems(runs: Sequence[Run]) -> SharedProblems:
    """Of the newest evaluation of each run; problems that some solved and others did not come first."""
    recorded = Trajectory.objects.filter(run__in=runs, split="validation", removed=False)
    newest = recorded.order_by().values("run").annotate(newest=Max("step")).values_list("run", "newest")
    wanted = Q(pk__in=[])
    for run_id, step in newest:
        wanted |= Q(run=run_id, step=step)
    index = {run.pk: position for position, run in enumerate(runs)}
    versions = {run.pk: _environments(run) for run in runs}
    cells: dict[tuple[str, str, int], list[Trajectory | None]] = {}
    for row in recorded.filter(wanted).order_by("environment", "seed", "-member"):
        key = (row.environment, versions[row.run_id].get(row.environment, ""), row.seed)
        cells.setdefault(key, [None] * len(runs))[index[row.run_id]] = row
    found = [
        Problem(environment=environment, seed=seed, cells=one)
        for (environment, _, seed), one in cells.items()
        if sum(cell is not None for cell in one) > 1
    ]
    found.sort(key=lambda problem: not problem.differs)
    return SharedProblems(
        problems=found[:MOST_PROBLEMS], total=len(found), differing=sum(problem.differs for problem in found)
    )


def _environments(run: Run) -> dict[str, str]:
    """By tag the whole configuration: the same seed is another problem in another environment."""
    return {
        str(one.get("tag")): json.dumps(with_defaults(one), sort_keys=True)
        for one in run.config.get("environments", [])
    }
