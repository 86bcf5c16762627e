"""Several runs in one answer: their curves, what their pages start from, and the means of groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema

from engine.statistics.group_bands import BandKind
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.problems import Problem
from webapp.api.resources.telemetry import BandAnswer, BandQuery, Keys, OutlineAnswer
from webapp.api.schemas import Column
from webapp.comparisons.first_curves import MOST_VALUES
from webapp.comparisons.group_curves import group_curves
from webapp.comparisons.selection import MOST_RUNS
from webapp.live.bands import metric_bands
from webapp.live.outline import outline
from webapp.projects.access import readable
from webapp.runs.models import Run

resource = Resource(tag="Comparisons")

MOST_METRICS = 24


RunIds = Annotated[
    Keys,
    Field(min_length=1, max_length=MOST_RUNS, description=f"IDs of up to {MOST_RUNS} runs, separated by commas."),
]


class RunsQuery(Fields):
    runs: RunIds


class BandsOfRunsQuery(BandQuery):
    runs: RunIds


class BandsOfRuns(BaseModel):
    runs: dict[str, BandAnswer] = Field(
        description="By ID, as `get_bands` answers. A run that does not exist has none."
    )


class OutlinesOfRuns(BaseModel):
    runs: dict[str, OutlineAnswer] = Field(
        description="By ID, as `get_outline` answers. A run that does not exist has none."
    )


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


@resource.get("bands", route="bands_of_runs")
def get_bands_of_runs(call: Call, query: BandsOfRunsQuery) -> Annotated[dict[str, Any], BandsOfRuns]:
    """Retrieve metrics of several runs over ranges of their steps, each as `get_bands` answers it.

    Runs times metrics times ranges are limited: for more, send several requests.
    """
    asked = len(query.runs) * len(query.keys) * query.buckets
    if asked > MOST_VALUES:
        raise Problem(
            400,
            f"{len(query.runs)} runs, {len(query.keys)} metrics and {query.buckets} buckets are {asked:,} values",
            f"Send fewer of them at once: up to {MOST_VALUES:,} values.",
        )
    return {
        "runs": {
            run.pk: metric_bands(
                run, query.keys, query.buckets, first=query.first, last=query.last, having=query.having
            )
            for run in _in_order(query.runs)
        }
    }


@resource.get("outlines")
def get_outlines(call: Call, query: RunsQuery) -> Annotated[dict[str, Any], OutlinesOfRuns]:
    """Retrieve lifecycle events, the times of the newest steps, and the names of all metrics, of several runs."""
    return {"runs": {run.pk: outline(run) for run in _in_order(query.runs)}}


def _in_order(ids: Iterable[str]) -> list[Run]:
    found = readable(Run.objects.all()).in_bulk(list(ids))
    return [found[pk] for pk in ids if pk in found]


@resource.get("group-curves", problems={404: "A run does not exist."})
def get_group_curves(call: Call, query: GroupQuery) -> Annotated[dict[str, Any], GroupAnswer]:
    """Retrieve the mean over groups of runs at each step, with a band.

    Between two steps of a run its values are interpolated, and a run has none before its first or after its last step.
    """
    ids = {pk for group in query.groups for pk in group}
    if len(ids) > MOST_RUNS:
        raise Problem(400, f"groups names {len(ids)} runs", f"Send up to {MOST_RUNS}.")
    runs = readable(Run.objects.all()).in_bulk(ids)
    if missing := sorted(ids - runs.keys()):
        raise Problem(404, f"There is no run {missing[0][:20]!r}", "List the runs with GET /api/v1/runs/.")
    groups = [[runs[pk] for pk in group] for group in query.groups]
    return {"groups": group_curves(groups, query.metrics, query.band, points=query.points)}
