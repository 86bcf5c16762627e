"""The scope of a list of trajectories: one run, or all runs. Everything else about a list is the same for both.

Access is decided here: all runs are those that the reader may read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from django.db.models import QuerySet
from django.urls import reverse

from webapp.projects.access import fetch, readable
from webapp.runs.models import Run
from webapp.trajectories import over_runs, services
from webapp.trajectories.filters import Filters
from webapp.trajectories.losses import LostInFile, lost_by_file
from webapp.trajectories.models import Trajectory
from webapp.trajectories.paging import NEWEST, NEWEST_OF_ALL, Sort


class Scope(Protocol):
    @property
    def run(self) -> Run | None: ...

    @property
    def run_id(self) -> str:
        """Empty for all runs."""

    @property
    def newest(self) -> Sort:
        """The default order."""

    def rows(self) -> QuerySet[Trajectory]:
        """With superseded ones, which filters leave out unless they are requested."""

    def facets(self) -> services.Facets: ...

    def counts(self, rows: QuerySet[Trajectory]) -> services.Counts: ...

    def lost(self, filters: Filters) -> list[LostInFile]: ...

    @property
    def address(self) -> str: ...

    @property
    def counts_address(self) -> str: ...

    @property
    def export_address(self) -> str: ...

    @property
    def compare_address(self) -> str: ...


@dataclass(frozen=True, slots=True)
class OneRun:
    run: Run
    newest: Sort = NEWEST

    @property
    def run_id(self) -> str:
        return self.run.pk

    def rows(self) -> QuerySet[Trajectory]:
        return Trajectory.all_attempts.filter(run=self.run)

    def facets(self) -> services.Facets:
        return services.facets(self.run)

    def counts(self, rows: QuerySet[Trajectory]) -> services.Counts:
        return services.counts(rows)

    def lost(self, filters: Filters) -> list[LostInFile]:
        return lost_by_file(filters, [self.run.pk])

    @property
    def address(self) -> str:
        return reverse("trajectories:list", args=[self.run.pk])

    @property
    def counts_address(self) -> str:
        return reverse("trajectories:counts", args=[self.run.pk])

    @property
    def export_address(self) -> str:
        return reverse("trajectories:export", args=[self.run.pk])

    @property
    def compare_address(self) -> str:
        return reverse("trajectories:side_by_side", args=[self.run.pk])


@dataclass(frozen=True, slots=True)
class AllRuns:
    run: None = None
    run_id: str = ""
    newest: Sort = NEWEST_OF_ALL

    def rows(self) -> QuerySet[Trajectory]:
        return readable(Trajectory.all_attempts.all())

    def facets(self) -> services.Facets:
        return over_runs.facets()

    def counts(self, rows: QuerySet[Trajectory]) -> services.Counts:
        return over_runs.counts(rows)

    def lost(self, filters: Filters) -> list[LostInFile]:
        """Only of runs that the filters name."""
        return lost_by_file(filters, filters.run_ids) if filters.run_ids else []

    @property
    def address(self) -> str:
        return reverse("all_trajectories:list")

    @property
    def counts_address(self) -> str:
        return reverse("all_trajectories:counts")

    @property
    def export_address(self) -> str:
        return reverse("all_trajectories:export")

    @property
    def compare_address(self) -> str:
        return reverse("all_trajectories:side_by_side")


def scope_of(run_id: str) -> Scope:
    """The scope of a URL: its run, or all runs if it names none; `Http404` if the run does not exist."""
    return OneRun(fetch(Run, pk=run_id)) if run_id else AllRuns()
