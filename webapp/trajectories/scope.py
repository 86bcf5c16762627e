"""What a list of trajectories is about: one run, or all runs. Everything else of a list is the same for both.

Who may see what is decided here: today every user may see every run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse

from webapp.runs.models import Run
from webapp.trajectories import over_runs, services
from webapp.trajectories.filters import Filters
from webapp.trajectories.losses import LostInFile, lost_by_file
from webapp.trajectories.models import Trajectory, TrajectoryText
from webapp.trajectories.paging import NEWEST, NEWEST_OF_ALL, Sort


class Scope(Protocol):
    @property
    def run(self) -> Run | None: ...

    @property
    def run_id(self) -> str:
        """Empty for all runs."""

    @property
    def newest(self) -> Sort:
        """The order of a list that was asked for none."""

    def rows(self) -> QuerySet[Trajectory]: ...

    def facets(self) -> services.Facets: ...

    def counts(self, rows: QuerySet[Trajectory]) -> services.Counts: ...

    def lost(self, filters: Filters) -> list[LostInFile]: ...

    def unsearchable(self) -> int:
        """How many have no words in the index: those of runs from before there was one."""

    @property
    def address(self) -> str: ...

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
        return Trajectory.objects.filter(run=self.run)

    def facets(self) -> services.Facets:
        return services.facets(self.run)

    def counts(self, rows: QuerySet[Trajectory]) -> services.Counts:
        return services.counts(rows)

    def lost(self, filters: Filters) -> list[LostInFile]:
        return lost_by_file(filters, [self.run.pk])

    def unsearchable(self) -> int:
        return self.rows().count() - TrajectoryText.objects.filter(run=self.run).count()

    @property
    def address(self) -> str:
        return reverse("trajectories:list", args=[self.run.pk])

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
        return Trajectory.objects.all()

    def facets(self) -> services.Facets:
        return over_runs.facets()

    def counts(self, rows: QuerySet[Trajectory]) -> services.Counts:
        return over_runs.counts(rows)

    def lost(self, filters: Filters) -> list[LostInFile]:
        """Of runs that were asked for by name: what other runs have lost is no news here."""
        return lost_by_file(filters, filters.run_ids) if filters.run_ids else []

    def unsearchable(self) -> int:
        return self.rows().count() - TrajectoryText.objects.count()

    @property
    def address(self) -> str:
        return reverse("all_trajectories:list")

    @property
    def export_address(self) -> str:
        return reverse("all_trajectories:export")

    @property
    def compare_address(self) -> str:
        return reverse("all_trajectories:side_by_side")


def scope_of(run_id: str) -> Scope:
    """Of a view: the run of its address, `Http404` where there is none, or all runs where it names none."""
    return OneRun(get_object_or_404(Run, pk=run_id)) if run_id else AllRuns()
