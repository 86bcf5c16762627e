"""The queue: which runs have engine slots, which wait, and moving one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.problems import Problem
from webapp.api.schemas import RunSummary, run_summary
from webapp.queue_pages.contents import Contents, contents
from webapp.runs import queue
from webapp.runs.models import Run
from webapp.runs.priorities import PriorityName

resource = Resource(tag="Queue")


class HolderAnswer(BaseModel):
    run: str
    name: str
    owner: str | None
    state: str
    priority: PriorityName
    step: int
    total_steps: int
    engine: str = Field(description="Host, process and device, as far as they are known.")
    left: str = Field(description="The expected time, in words; `unknown` without earlier runs of the same kind.")
    preempted: str = Field(description="Why it gives up its slot; empty if it does not.")


class WaitingAnswer(BaseModel):
    run: str
    name: str
    owner: str | None
    priority: PriorityName
    position: int = Field(description="From 1.")
    waits_for: str
    starts: str
    lasts: str


class QueueAnswer(BaseModel):
    slots: int
    preemption: bool = Field(description="Whether a run of higher priority may take a slot.")
    running: list[HolderAnswer]
    waiting: list[WaitingAnswer] = Field(description="The next one first; at most 100.")
    queued: int


class Move(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"position": 1}]})

    position: int = Field(ge=1, le=100_000, description="From 1; beyond the end is the end.")


@resource.get("queue/", route="queue")
def get_queue(call: Call) -> Annotated[dict[str, Any], QueueAnswer]:
    """Which runs have engine slots, and which wait for one, in their order."""
    return queue_answer(contents())


@resource.post(
    "runs/{run_id}/queue-position",
    scope=Scope.LAUNCH,
    problems={409: "The run is not queued, or already there."},
)
def move_run(call: Call, run: Run, body: Move) -> Annotated[dict[str, Any], RunSummary]:
    """Move a queued run to a position in the queue. It stays there; runs behind it keep taking turns."""
    if not queue.reorder(run, call.user, body.position):
        raise Problem(409, "The run is not queued, or already there", "Retrieve the queue with GET /api/v1/queue/.")
    return run_summary(run)


def queue_answer(found: Contents) -> dict[str, Any]:
    return {
        "slots": found.slots,
        "preemption": found.preemption,
        "running": [
            {
                "run": row.run.pk,
                "name": row.run.name,
                "owner": row.run.owner.get_username() if row.run.owner else None,
                "state": row.run.shown_as,
                "priority": row.priority,
                "step": row.run.step,
                "total_steps": row.run.total_steps,
                "engine": row.where,
                "left": row.left,
                "preempted": row.run.preempted,
            }
            for row in found.running
        ],
        "waiting": [
            {
                "run": row.run.pk,
                "name": row.run.name,
                "owner": row.run.owner.get_username() if row.run.owner else None,
                "priority": row.priority,
                "position": row.standing.position,
                "waits_for": row.standing.text,
                "starts": row.starts,
                "lasts": row.lasts,
            }
            for row in found.waiting
        ],
        "queued": found.queued,
    }
