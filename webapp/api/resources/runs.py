"""Runs: the list, one run, and launching."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from django.db import transaction
from django.db.models import Q
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from engine.errors import CheckpointError, ModelError
from webapp.accounts.models import Scope
from webapp.adapter_copies import copies_first
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.label_fields import Notes, Project, Tags, Text
from webapp.api.paging import page, sorted_page
from webapp.api.problems import Problem, invalid_fields
from webapp.api.schemas import RunDetail, RunSummary, run_summary
from webapp.launching import requests
from webapp.launching.presets import run_presets, saved_presets
from webapp.members.choices import project_for_new
from webapp.projects.access import readable
from webapp.run_pages.arrangement import read_sort
from webapp.run_pages.columns import FIXED, KINDS
from webapp.run_pages.run_filters import words_of
from webapp.runs.labels import label
from webapp.runs.lineage import lineage_facts
from webapp.runs.models import Run
from webapp.runs.priorities import NUMBERS, PriorityName
from webapp.runs.quotas import QuotaExceeded
from webapp.runs.services import submit_run
from webapp.runs.settings_history import as_json, history_of
from webapp.runs.states import RunState
from webapp.runs.verdicts import status_of

resource = Resource(tag="Runs")


def _is_sortable(text: str) -> str:
    if read_sort(text).column is None:
        raise ValueError(
            f"{text[:60]!r} is no column of the list of runs. Send one of {', '.join(FIXED)}, or a metric such as "
            f"last:reward/mean with one of {', '.join(KINDS)}; a minus before it sorts in descending order."
        )
    return text


class RunFilter(Fields):
    state: RunState | None = Field(default=None, description="Only runs in this state.")
    project: str | None = Field(default=None, description="Only runs of the project with this name or slug.")
    tag: str | None = Field(default=None, description="Only runs with this tag.")
    name: str | None = Field(default=None, description="Only runs whose name contains this.")
    archived: Literal["0", "1"] = Field(default="0", description="`1` for archived runs instead of active ones.")
    q: str = Field(
        default="",
        description="Only runs with each of these words in their name, project, notes, tags, environment, preset or "
        "model.",
    )
    sort: Annotated[str, AfterValidator(_is_sortable)] | None = Field(
        default=None,
        description="A column of the page *Runs*, such as `name` or `held_out`, or a metric: `last:reward/mean`, and "
        "`best:`, `highest:` or `lowest:` over all steps. With `-` before it in descending order; runs without a value "
        "come last. By default, the newest come first.",
    )
    limit: int = Field(default=50, ge=1, le=500, description="The most runs on a page.")
    after: str | None = Field(default=None, description="The cursor `next` of the previous page.")


class FoundRun(RunSummary):
    sort_value: float | str | None = Field(description="What the list is sorted by, of this run; null without `sort`.")


class RunPage(BaseModel):
    runs: list[FoundRun]
    next: str | None = Field(description="The cursor of the next page; null if this is the last.")


class PresetAnswer(BaseModel):
    key: str = Field(description="The key to launch it by.")
    title: str
    description: str


class PresetList(BaseModel):
    presets: list[PresetAnswer]


class Launch(Fields):
    """Exactly one of `preset`, `config` and `toml`; `overrides` change it."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"preset": "starter", "overrides": {"steps": 20}}]}
    )

    preset: str = Field(default="", description="The key of a preset, as listed by `list_presets`.")
    config: dict[str, Any] | None = Field(
        default=None, description="A `RunConfig`. Fields that are left out have their defaults."
    )
    toml: str | None = Field(default=None, description="The same as the text of a TOML file.")
    overrides: dict[str, Any] = Field(
        default_factory=dict, description='Values by dotted field, such as `{"optimizer.learning_rate": 1e-4}`.'
    )
    environment: Text = Field(
        default="",
        description="The name of an environment of this site, which replaces the first of the configuration.",
    )
    name: Text = Field(default="", max_length=80, description="Generated if left out.")
    project: Project = ""
    tags: Tags = Field(default_factory=list)
    notes: Notes = ""
    priority: PriorityName = Field(default="normal", description="In the queue.")
    sized_defaults: bool = Field(
        default=True,
        description="Fields that are not given have the defaults for the size of the model, such as its learning rate; "
        "with `false` the general ones, which are those of the small models that ship.",
    )


class SizedDefault(BaseModel):
    field: str
    value: Any = Field(description="The default for the size of the model.")
    instead_of: Any = Field(description="The general default, or the value of the preset.")


class Launched(RunDetail):
    sized_defaults: list[SizedDefault] = Field(description="Fields that have the default for the size of the model.")
    warnings: list[str] = Field(description="Settings that are valid but probably not intended.")


@resource.get("runs/", route="runs")
def list_runs(call: Call, query: RunFilter) -> Annotated[dict[str, Any], RunPage]:
    """List runs, most recent first or by a column or metric."""
    runs = readable(Run.objects.filter(archived_at__isnull=query.archived == "0"))
    runs = runs.select_related("project").prefetch_related("tags")
    chosen = {
        "state": query.state,
        "tags__name": query.tag,
        "name__icontains": query.name or None,
    }
    runs = runs.filter(**{name: value for name, value in chosen.items() if value is not None})
    if query.project is not None:
        runs = runs.filter(Q(project__slug=query.project) | Q(project__name=query.project))
    for word in words_of(query.q):
        runs = runs.filter(word)
    sort = read_sort(query.sort or "")
    if sort.column is None:
        found, following = page(runs, query, after=query.after, limit=query.limit)
    else:
        found, following = sorted_page(
            runs, query, sort.column.order, descending=sort.descending, after=query.after, limit=query.limit
        )
    return {"runs": [{**run_summary(run), "sort_value": _sort_value(run)} for run in found], "next": following}


def _sort_value(run: Run) -> float | str | None:
    value = getattr(run, "sort_value", None)
    return value.isoformat() if isinstance(value, datetime) else value


@resource.get("runs/{run_id}/", route="run")
def get_run(call: Call, run: Run) -> Annotated[dict[str, Any], RunDetail]:
    """Retrieve a run with its configuration."""
    return run_detail(run)


@resource.get("presets/", route="presets")
def list_presets(call: Call) -> PresetList:
    """List the presets that a run can be launched from: those that ship, and your own."""
    found = run_presets() | saved_presets(call.user)
    return PresetList(
        presets=[PresetAnswer(key=key, title=one.title, description=one.description) for key, one in found.items()]
    )


@resource.post("runs/", route="runs", scope=Scope.LAUNCH, status=201, idempotent=True)
@copies_first
def launch_run(call: Call, body: Launch) -> Annotated[dict[str, Any], Launched]:
    """Launch a run.

    The run is validated as on the form of a new run, and queued. With the header `Idempotency-Key`, a request that is
    sent again within 24 hours with the same body gives the same run.
    """
    try:
        found = requests.prepare(
            requests.Wanted(
                preset=body.preset,
                config=body.config,
                toml=body.toml,
                overrides=body.overrides,
                environment=body.environment,
                sized=body.sized_defaults,
            ),
            call.user,
        )
    except requests.Refused as refusal:
        raise invalid_fields(refusal.errors, "Fix the fields in `errors`. Nothing was launched.") from None
    if found.draft.config is None:
        raise AssertionError("what was prepared has a configuration")
    try:
        with transaction.atomic():
            run = submit_run(
                owner=call.user,
                config=found.draft.config,
                name=body.name,
                preset=found.title,
                environment_version=found.version,
                priority=NUMBERS[body.priority],
                project=project_for_new(call.user, body.project, create=True) if body.project else None,
            )
            label(run, call.user, tags=body.tags, notes=body.notes)
    except QuotaExceeded as error:
        raise Problem(403, error.message, error.remedy) from None
    except CheckpointError as error:
        raise Problem(409, str(error), error.remedy or "Fork from another checkpoint.") from None
    except ModelError as error:
        raise Problem(409, error.message.rstrip("."), error.remedy) from None
    sized = [{"field": one.field, "value": one.after, "instead_of": one.before} for one in found.changes]
    return {**run_detail(run), "warnings": found.draft.warnings, "sized_defaults": sized}


def run_detail(run: Run) -> dict[str, Any]:
    return {
        **run_summary(run),
        "status": asdict(status_of(run)),
        "verdict": run.verdict or None,
        "config": run.config,
        "settings_history": as_json(history_of(run)),
        "ancestors": lineage_facts(run)["ancestors"],
    }
