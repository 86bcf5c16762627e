"""Curves of groups of runs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema

from engine.statistics.group_bands import BandKind
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.problems import Problem
from webapp.api.resources.telemetry import Keys
from webapp.api.schemas import Column
from webapp.comparisons.group_curves import group_curves
from webapp.comparisons.selection import MOST_RUNS
from webapp.runs.models import Run

resource = Resource(tag="Comparisons")

MOST_METRICS = 24


def _split_groups(text: object) -> list[list[str]]:
    groups = [list(dict.fromkeys(part for part in one.split(",") if part)) for one in str(text).split(";")]
    return [group for group in groups if group]


Groups = Annotated[list[list[str]], BeforeValidator(_split_groups), WithJsonSchema({"type": "string"})]


class GroupQuery(Fields):
    groups: Groups = Field(
        description=f"IDs of up to {MOST_RUNS} runs: commas within a group, semicolons between groups."
    )
    metrics: Keys = Field(
        max_length=MOST_METRICS, description=f"Names of up to {MOST_METRICS} metrics, separated by commas."
    )
    band: BandKind = Field(
        default="ci",
        description="Around the mean: Student's 95% interval (`ci`), standard error (`se`), standard deviation (`std`) "
        "or the extremes (`minmax`).",
    )
    points: int = Field(default=600, ge=2, le=5000, description="The most points of a curve.")


class GroupColumns(BaseModel):
    """Columns of equal length."""

    steps: list[int]
    mean: Column
    low: Column = Field(description="Null where too few runs have a value: three for `ci`, two for the others.")
    high: Column
    count: list[int] = Field(description="Runs with a value there.")
    tokens: Column = Field(description="Mean over the runs; null where not all of them have a value.")
    seconds: Column
    elapsed: Column


class GroupAnswer(BaseModel):
    groups: list[dict[str, GroupColumns]] = Field(description="By metric, in the order of the groups.")


@resource.get("group-curves", problems={404: "A run does not exist."})
def get_group_curves(call: Call, query: GroupQuery) -> Annotated[dict[str, Any], GroupAnswer]:
    """Retrieve the mean over groups of runs at each step, with a band.

    Between two steps of a run its values are interpolated, and a run has none before its first or after its last step.
    """
    ids = {pk for group in query.groups for pk in group}
    if len(ids) > MOST_RUNS:
        raise Problem(400, f"groups names {len(ids)} runs", f"Send up to {MOST_RUNS}.")
    runs = Run.objects.in_bulk(ids)
    if missing := sorted(ids - runs.keys()):
        raise Problem(404, f"There is no run {missing[0][:20]!r}", "List the runs with GET /api/v1/runs/.")
    groups = [[runs[pk] for pk in group] for group in query.groups]
    return {"groups": group_curves(groups, query.metrics, query.band, points=query.points)}
