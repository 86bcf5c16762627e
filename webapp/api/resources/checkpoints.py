"""The checkpoints of a run: listing, downloading and evaluating one, forking the run there, and running it again."""

from __future__ import annotations

from typing import Annotated, Any

from django.db import transaction
from django.http.response import HttpResponseBase
from pydantic import BaseModel, ConfigDict, Field

from engine.errors import CheckpointError, ConfigError, ModelError, StarboardError
from webapp.accounts.models import Scope
from webapp.adapter_copies import copies_first
from webapp.api.endpoints import Call, Fields, Media, Resource
from webapp.api.label_fields import Notes, Project, Tags, Text
from webapp.api.problems import Problem, invalid_fields
from webapp.api.resources.runs import Launched, run_detail
from webapp.api.resources.telemetry import Number
from webapp.evaluations import requests as evaluations
from webapp.evaluations.requests import checkpoint_at
from webapp.jobs import Refused
from webapp.launching import requests
from webapp.members.choices import project_for_new
from webapp.run_pages.checkpoint_archive import archive_of
from webapp.runs import forks, services
from webapp.runs.labels import label
from webapp.runs.models import Checkpoint, Run
from webapp.runs.priorities import NUMBERS, PriorityName
from webapp.runs.quotas import QuotaExceeded
from webapp.streamed import streamed

resource = Resource(tag="Checkpoints and forks")

TAR = "application/x-tar"
NO_CHECKPOINT = "There is no such run, or no checkpoint of this step any more."


class CheckpointRow(BaseModel):
    step: int
    bytes: int
    reason: str = Field(description="Why it was saved, such as `schedule`, `request` or `final`.")
    time: float = Field(description="Seconds since the epoch.")


class CheckpointList(BaseModel):
    checkpoints: list[CheckpointRow] = Field(description="Checkpoints that still exist, newest first.")


class AtStep(Fields):
    step: Number = Field(description="The step of a checkpoint, as listed by `list_checkpoints`.")


class EvaluateCheckpoint(AtStep):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"step": 60}]})


class RequestedEvaluation(BaseModel):
    step: int
    state: str = Field(description="Queued; the result is one of `list_held_out_evaluations` later.")


class Fork(AtStep):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"step": 60, "overrides": {"optimizer.learning_rate": 1e-5}}]}
    )

    overrides: dict[str, Any] = Field(
        default_factory=dict,
        description="Values by dotted field, as in `launch_run`. By default the fork has the remaining steps.",
    )
    name: Text = Field(default="", max_length=80, description="By default the name of the run and the step.")
    project: Project = ""
    tags: Tags = Field(default_factory=list)
    notes: Notes = ""
    priority: PriorityName = Field(default="normal", description="In the queue.")


@resource.get("runs/{run_id}/checkpoints")
def list_checkpoints(call: Call, run: Run) -> CheckpointList:
    """List the checkpoints of a run."""
    rows = [row for row in run.checkpoints.all() if (run.directory / row.path).is_dir()]
    return CheckpointList(
        checkpoints=[CheckpointRow(step=row.step, bytes=row.bytes, reason=row.reason, time=row.time) for row in rows]
    )


@resource.get("runs/{run_id}/checkpoint", route="checkpoint", problems={404: NO_CHECKPOINT})
def download_checkpoint(
    call: Call, run: Run, query: AtStep
) -> Annotated[HttpResponseBase, Media(type=TAR, description="Weights, model card and configuration.")]:
    """Download a checkpoint as a tar archive with a Hugging Face directory."""
    archive = archive_of(run, _checkpoint(run, query.step))
    if archive is None:
        raise _gone(query.step)
    name = f"{run.pk}-step_{query.step}.tar"
    return streamed(call.request, archive.chunks(), name=name, content_type=TAR, size=archive.size)


@resource.post(
    "runs/{run_id}/evaluate",
    route="evaluate_checkpoint",
    scope=Scope.LAUNCH,
    status=202,
    problems={404: NO_CHECKPOINT, 409: "It is being evaluated, or no worker answers."},
)
def evaluate_checkpoint(call: Call, run: Run, body: EvaluateCheckpoint) -> RequestedEvaluation:
    """Evaluate a checkpoint on held-out problems of its run, as *Evaluate now* on its page does."""
    _checkpoint(run, body.step)
    try:
        made = evaluations.submit(run, body.step, call.user)
    except Refused as refusal:
        raise Problem(409, str(refusal).rstrip("."), "Try again later.") from None
    return RequestedEvaluation(step=made.step, state=made.state)


@resource.post(
    "runs/{run_id}/fork",
    route="fork_run",
    scope=Scope.LAUNCH,
    status=201,
    idempotent=True,
    problems={404: NO_CHECKPOINT, 409: "The run was imported or is trained elsewhere, or the checkpoint was deleted."},
)
@copies_first
def fork_run(call: Call, run: Run, body: Fork) -> Annotated[dict[str, Any], Launched]:
    """Fork a run: launch one that starts from a checkpoint, with the settings that the run has now.

    Warm-up and schedule of the learning rate continue. It trains the remaining steps of the run, unless `overrides`
    say otherwise.
    """
    _refuse_imported(run)
    _checkpoint(run, body.step)
    config = forks.forked_config(run, body.step).model_dump(mode="json")
    wanted = requests.Wanted(config=config, overrides=body.overrides)
    try:
        found = requests.prepare(wanted, call.user, of=run.environment_version)
    except requests.Refused as refusal:
        raise invalid_fields(refusal.errors, "Fix the fields in `errors`. Nothing was launched.") from None
    if found.draft.config is None:
        raise AssertionError("what was prepared has a configuration")
    try:
        with transaction.atomic():
            made = services.submit_run(
                owner=call.user,
                config=found.draft.config,
                name=body.name or forks.name_of(run, body.step),
                preset=run.preset,
                environment_version=run.environment_version,
                cloned_from=run,
                priority=NUMBERS[body.priority],
                project=project_for_new(call.user, body.project, like=run.project, create=True),
            )
            label(made, call.user, tags=body.tags, notes=body.notes)
    except QuotaExceeded as error:
        raise Problem(403, error.message, error.remedy) from None
    except CheckpointError as error:
        raise Problem(409, error.message.rstrip("."), error.remedy or "Fork from another checkpoint.") from None
    return {**run_detail(made), "warnings": found.draft.warnings}


@resource.post(
    "runs/{run_id}/again",
    route="run_again",
    scope=Scope.LAUNCH,
    status=201,
    idempotent=True,
    problems={409: "The run was imported or is trained elsewhere, or what it starts from was deleted."},
)
def run_again(call: Call, run: Run) -> Annotated[dict[str, Any], Launched]:
    """Launch a run with the same configuration and seed."""
    _refuse_imported(run)
    try:
        made = services.run_again(run, call.user)
    except QuotaExceeded as error:
        raise Problem(403, error.message, error.remedy) from None
    except (CheckpointError, ConfigError, ModelError) as error:
        raise Problem(409, error.message.rstrip("."), _remedy(error)) from None
    return {**run_detail(made), "warnings": []}


def _checkpoint(run: Run, step: int) -> Checkpoint:
    found = checkpoint_at(run, step)
    if found is None:
        raise _gone(step)
    return found


def _gone(step: int) -> Problem:
    return Problem(404, f"There is no checkpoint of step {step}", "Choose one of `list_checkpoints`.")


def _refuse_imported(run: Run) -> None:
    if run.imported_from:
        raise Problem(409, "The run was not trained here", "Launch or fork a run that was.")


def _remedy(error: StarboardError) -> str:
    return error.remedy or "Launch another configuration."
