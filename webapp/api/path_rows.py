"""Rows that a path names by their ID: which parameter of an endpoint's function gets each, and how it is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from webapp.api.problems import Problem
from webapp.environments.models import EnvironmentDefinition
from webapp.projects.access import readable
from webapp.reports.models import Report
from webapp.runs.models import Run
from webapp.sweeps.models import Sweep


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRow:
    """`pattern` is what the part of the path may be; `find` gives the row that the reader may read, if there is one."""

    parameter: str
    pattern: str
    type: str  # in OpenAPI
    find: Callable[[str], QuerySet[Any]]

    @property
    def description(self) -> str:
        called = "ID" if self.type == "string" else "number"
        return f"The {called} of the {self.parameter}, as in the URL of its page."

    def row(self, text: str, *, in_brief: bool = False) -> Any:
        """`Problem` 404 where there is none. `in_brief` without the columns that are not needed to know who may read
        it: those are read when they are used."""
        rows = self.find(text).order_by()
        found = next(iter(rows.select_related(None).only("project") if in_brief else rows), None)
        if found is None:
            named = repr(text[:20]) if self.type == "string" else text
            plural = f"{self.parameter}s"
            raise Problem(
                404, f"There is no {self.parameter} {named}", f"List the {plural} with GET /api/v1/{plural}/."
            )
        return found


NUMBER = "[0-9]{1,9}"
PATH_ROWS: dict[str, PathRow] = {
    "run_id": PathRow(
        parameter="run",
        pattern="[0-9a-z]{1,10}",
        type="string",
        find=lambda text: readable(Run.objects.select_related("forked_from").filter(pk=text)),
    ),
    "sweep_id": PathRow(
        parameter="sweep",
        pattern=NUMBER,
        type="integer",
        find=lambda text: readable(Sweep.objects.select_related("owner", "environment_version").filter(pk=int(text))),
    ),
    "environment_id": PathRow(
        parameter="environment",
        pattern=NUMBER,
        type="integer",
        find=lambda text: readable(
            EnvironmentDefinition.objects.select_related("owner", "project").filter(pk=int(text))
        ),
    ),
    "report_id": PathRow(
        parameter="report",
        pattern=NUMBER,
        type="integer",
        find=lambda text: readable(Report.objects.select_related("owner").filter(pk=int(text))),
    ),
}
