"""Actions on a run, and changes of its settings and labels."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.label_fields import Notes, Project, Tags
from webapp.api.problems import Problem, invalid_fields
from webapp.api.schemas import RunSummary, run_summary
from webapp.runs import live_settings, services
from webapp.runs.labels import label
from webapp.runs.models import Run
from webapp.runs.quotas import QuotaExceeded
from webapp.runs.states import RunState

resource = Resource(tag="Steering")

ACTIONS = {
    "stop": services.request_stop,
    "pause": services.request_pause,
    "resume": services.request_resume,
    "checkpoint": services.request_checkpoint,
    "archive": services.archive,
    "start_over": services.request_start_over,
}


class Control(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"action": "pause"}]})

    action: Literal["stop", "pause", "resume", "checkpoint", "archive", "start_over"] = Field(
        description="A repeated stop escalates: ask the engine, terminate it, kill it. `start_over` is for a run that "
        "needs attention since no good checkpoint is left: it begins again at step 0, and what it recorded is kept as "
        "superseded."
    )


class SettingsChange(Fields):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"changes": {"optimizer.learning_rate": 1e-5}, "revision": 0}]},
    )

    changes: dict[str, Any] = Field(
        description="Values by dotted field; which fields can change is on the Control tab."
    )
    revision: int | None = Field(
        default=None,
        strict=True,
        description="The revision that you read. If it is no longer the run's, nothing changes and the status is 409.",
    )


class OldAndNew(BaseModel):
    old: Any
    new: Any


class ChangedSettings(BaseModel):
    changes: dict[str, OldAndNew]
    run: RunSummary


class Labels(Fields):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"project": "sokoban", "tags": ["baseline"], "notes": "…"}]}
    )

    project: Project = ""
    tags: Tags = Field(default_factory=list)
    notes: Notes = ""

    @model_validator(mode="after")
    def has_some(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("Send at least one of project, tags and notes.")
        return self


@resource.post(
    "runs/{run_id}/control", scope=Scope.LAUNCH, problems={409: "The state of the run does not allow the action."}
)
def control_run(call: Call, run: Run, body: Control) -> Annotated[dict[str, Any], RunSummary]:
    """Stop, pause, resume, checkpoint, archive or start over a run."""
    try:
        done = ACTIONS[body.action](run, call.user)
    except QuotaExceeded as error:
        raise Problem(403, error.message, error.remedy) from None
    if not done:
        state = RunState(run.state).label.lower()
        raise Problem(409, f"Cannot {body.action} a run that is {state}", "Retrieve the run and check its state.")
    run.refresh_from_db()
    return run_summary(run)


@resource.post(
    "runs/{run_id}/settings", scope=Scope.LAUNCH, problems={409: "The state or the revision of the run has changed."}
)
def change_settings(call: Call, run: Run, body: SettingsChange) -> Annotated[dict[str, Any], ChangedSettings]:
    """Change settings of a live run from its next step on."""
    try:
        changes = live_settings.change(run, body.changes, call.user, revision=body.revision)
    except live_settings.Refused as refusal:
        if refusal.conflict:
            remedy = "Retrieve the run and try again."
            raise Problem(409, str(refusal), remedy, errors=refusal.errors) from None
        raise invalid_fields(refusal.errors) from None
    run.refresh_from_db()
    return {"changes": changes, "run": run_summary(run)}


@resource.post("runs/{run_id}/labels", scope=Scope.LAUNCH)
def label_run(call: Call, run: Run, body: Labels) -> Annotated[dict[str, Any], RunSummary]:
    """Set the project, the tags or the notes of a run.

    What is not sent stays as it is; `tags` replaces all tags.
    """
    label(run, call.user, **{name: getattr(body, name) for name in body.model_fields_set})
    run.refresh_from_db()
    return run_summary(run)
