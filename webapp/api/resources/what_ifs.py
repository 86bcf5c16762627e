"""What-ifs: forks of recorded trajectories at a turn."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from engine.errors import RunDirectoryError
from engine.what_if.request import LONGEST_TEXT, Edit
from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.label_fields import Text
from webapp.api.problems import Problem
from webapp.api.resources.telemetry import Number
from webapp.jobs import JobState, Refused
from webapp.projects.access import readable, require
from webapp.projects.models import Role
from webapp.runs.models import Run
from webapp.trajectories.chat import messages_of
from webapp.trajectories.models import Trajectory
from webapp.whatif import services
from webapp.whatif.models import WhatIf
from webapp.whatif.origins import ForkedOrigin, Origin, RecordedOrigin

resource = Resource(tag="What-ifs")


class StartWhatIf(Fields):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"trajectory": 12, "turn": 2, "edit": "action", "text": "Down"}]},
    )

    trajectory: Number | None = Field(default=None, description="The ID of a trajectory of `list_trajectories`.")
    what_if: Number | None = Field(default=None, description="Instead, a finished what-if of the run, to fork again.")
    turn: int = Field(ge=1, le=10_000, description="From 1. Earlier turns are replayed as recorded.")
    edit: Edit = Field(default="nothing", description="What `text` replaces; `nothing` samples the response again.")
    text: Text = Field(default="", max_length=LONGEST_TEXT)
    checkpoint: Number | None = Field(
        default=None,
        description="The step of the checkpoint that continues; null for the model that training began with.",
    )
    temperature: float = Field(default=1.0, ge=0, le=5, description="0 is greedy.")
    seed: int = Field(default=0, ge=0, le=2_000_000_000)


class WhatIfAnswer(BaseModel):
    id: int
    run: str
    state: JobState
    message: str
    remedy: str
    turn: int
    edit: str
    text: str
    checkpoint: str
    temperature: float
    seed: int
    summary: dict[str, Any] = Field(description="Success, return and turns, once it has finished.")


class WhatIfDetail(WhatIfAnswer):
    messages: list[dict[str, str]] | None = Field(description="The whole chat; null until it has finished.")


@resource.post(
    "runs/{run_id}/what-ifs",
    route="what_ifs",
    scope=Scope.LAUNCH,
    status=202,
    problems={
        404: "There is no such run, or it has no such trajectory.",
        409: "It cannot be forked, or you have a what-if in progress.",
    },
)
def start_what_if(call: Call, run: Run, body: StartWhatIf) -> Annotated[dict[str, Any], WhatIfAnswer]:
    """Fork a recorded trajectory at a turn: edit an action, a response or the prompt, and continue the rollout."""
    fields = {
        "turn": body.turn - 1,
        "edit": body.edit,
        "text": body.text,
        "checkpoint": "" if body.checkpoint is None else f"step_{body.checkpoint}",
        "temperature": body.temperature,
        "seed": body.seed,
    }
    try:
        return _answer(services.submit(_origin(run, body), call.user, fields))
    except Refused as refusal:
        raise Problem(409, str(refusal).rstrip("."), "Correct that, then try again.") from None


@resource.get("what-ifs/{what_if_id}/", route="what_if")
def get_what_if(call: Call, what_if_id: int) -> Annotated[dict[str, Any], WhatIfDetail]:
    """Retrieve a what-if, with its chat once it has finished."""
    found = _what_if(what_if_id)
    messages = None
    if found.state == JobState.FINISHED:
        try:
            messages = messages_of(services.record(found))
        except RunDirectoryError:
            messages = None
    return {**_answer(found), "messages": messages}


@resource.post("what-ifs/{what_if_id}/stop", route="stop_what_if", scope=Scope.LAUNCH)
def stop_what_if(call: Call, what_if_id: int) -> Annotated[dict[str, Any], WhatIfAnswer]:
    """Stop a what-if."""
    found = _what_if(what_if_id)
    require(found, Role.EDITOR)
    services.stop(found, call.user)
    found.refresh_from_db()
    return _answer(found)


def _origin(run: Run, body: StartWhatIf) -> Origin:
    if (body.trajectory is None) == (body.what_if is None):
        raise Problem(422, "Both or none of trajectory and what_if were sent", "Send one of them.")
    if body.trajectory is not None:
        found = Trajectory.all_attempts.select_related("run").filter(run=run, pk=body.trajectory).first()
        if found is None:
            raise Problem(404, f"The run has no trajectory {body.trajectory}", "Choose one of `list_trajectories`.")
        return RecordedOrigin(found)
    forked = WhatIf.objects.select_related("run").filter(run=run, pk=body.what_if or 0).first()
    if forked is None:
        raise Problem(404, f"The run has no what-if {body.what_if}", "Send one that `start_what_if` answered with.")
    return ForkedOrigin(forked)


def _what_if(pk: int) -> WhatIf:
    found = readable(WhatIf.objects.select_related("run").filter(pk=pk)).first()
    if found is None:
        raise Problem(404, f"There is no what-if {pk}", "`start_what_if` answers with its number.")
    return found


def _answer(one: WhatIf) -> dict[str, Any]:
    names = ("state", "message", "remedy", "edit", "text", "checkpoint", "temperature", "seed", "summary")
    return {"id": one.pk, "run": one.run_id, "turn": one.turn + 1, **{name: getattr(one, name) for name in names}}
