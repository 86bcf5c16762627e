"""Deleting a run, and what that would free."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.problems import Problem
from webapp.projects.models import Role
from webapp.run_pages.removal import delete, removals
from webapp.runs.models import Run

resource = Resource(tag="Steering")


class Confirmation(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"confirm": False}]})

    confirm: bool = Field(
        default=False, strict=True, description="Without it, the answer only says what would be freed."
    )


class Freed(BaseModel):
    run: str
    deleted: bool
    freed_bytes: int
    record_bytes: int
    trajectory_bytes: int
    checkpoint_bytes: int
    shared_bytes: int = Field(description="Size of files that other runs link to. They stay.")
    forks: int = Field(description="Forks of the run. They keep the checkpoint that they start from.")
    evaluations: int = Field(description="Evaluations on suites of its checkpoints. They keep their results.")


@resource.post(
    "runs/{run_id}/delete",
    route="delete_run",
    scope=Scope.LAUNCH,
    needs=Role.ADMIN,
    problems={409: "The run is live, or something needs its files."},
)
def delete_run(call: Call, run: Run, body: Confirmation) -> Annotated[dict[str, Any], Freed]:
    """Delete a run that is over: its rows and its files, which cannot be restored."""
    [found] = removals([run])
    if found.refusal:
        raise Problem(409, f"The run cannot be deleted: {found.refusal}", "Nothing was deleted.")
    freed = {
        "run": run.pk,
        "deleted": False,
        "freed_bytes": found.freed,
        "record_bytes": found.record,
        "trajectory_bytes": found.trajectories,
        "checkpoint_bytes": found.checkpoints,
        "shared_bytes": found.shared,
        "forks": found.forks,
        "evaluations": found.evaluations,
    }
    if not body.confirm:
        return freed
    done = delete(run, call.user)
    if not done.done:
        raise Problem(409, done.problem, "Stop it first. Nothing was deleted.")
    return {**freed, "deleted": True}
