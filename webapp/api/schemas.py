"""Answers that several endpoints have in common. They describe rows as they are sent; nothing is validated again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, RootModel

from engine.config import RunConfig
from engine.events import Event as EngineEvent
from engine.verdict.types import Verdict
from webapp.api.endpoints import like
from webapp.runs.models import Run
from webapp.runs.priorities import PriorityName, priority_name
from webapp.runs.states import EndCause, Request, RunState, StopRequester

Column = list[float | None]


class Event(RootModel[EngineEvent]):
    """An event exactly as the engine wrote it."""


LIKENED: tuple[type[BaseModel], ...] = (RunConfig, Event, Verdict)


class Health(BaseModel):
    """The verdict in short."""

    label: str
    title: str
    level: str
    reason: str


class Fault(BaseModel):
    """A failure that the run restarted after, or gave up at."""

    time: float = Field(description="Seconds since the epoch.")
    attempt: int
    step: int
    reason: str
    restart: int = Field(description="Number of this restart.")
    budget: int = Field(description="Restarts that were allowed.")
    fruitless: int = Field(description="Restarts in a row without progress.")


class SettingsNow(BaseModel):
    revision: int = Field(description="Counts changes since launch.")
    changes: dict[str, Any] = Field(description="Dotted field to its value now, of fields that were changed.")


class RunSummary(BaseModel):
    """A run's row: its state, its progress and its labels."""

    id: str
    name: str
    state: RunState
    shown_as: str = Field(
        description="The state as pages show it: also `restarting` and `needs_attention`, or what an alert ended it as."
    )
    label: str
    end_cause: EndCause | Literal[""] = Field(description="Why the run ended; empty while it has not.")
    stop_requested_by: StopRequester | Literal[""] = Field(
        description="Who ended the run before its last step; empty if nobody did."
    )
    ended_by: str = Field(description="The alert rule that ended the run; empty if none did.")
    health: Health | None
    reason: str = Field(description="Why the run is in its state.")
    remedy: str
    wait_reason: str = Field(description="What a queued run waits for.")
    requested: Request
    unheld: bool = Field(
        description="No worker supervises the run at the moment: its engine continues, and what is shown of it is out "
        "of date."
    )
    step: int
    total_steps: int
    ancestor_steps: int = Field(description="Steps trained before by the runs that this one was forked from.")
    phase: str
    tokens: int = Field(description="Tokens sampled so far.")
    seconds: float = Field(description="Training time of all attempts.")
    eta_seconds: float | None
    attempt: int
    restarts: int
    restart_budget: int
    faults: list[Fault]
    last_seq: int = Field(description="Number of the newest event.")
    last_heartbeat_at: float | None = Field(description="Seconds since the epoch.")
    stop_proof: dict[str, Any]
    settings: SettingsNow
    metrics: dict[str, float | None] = Field(description="Metrics of the newest step.")
    project: str
    tags: list[str]
    notes: str
    preset: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    archived_at: str | None
    cloned_from: str | None
    forked_from: str | None
    fork_step: int | None
    lineage_step: int = Field(description="Steps that the weights have been trained for, with those of ancestors.")
    colour: int
    priority: PriorityName


class Status(BaseModel):
    """What heads the page of the run."""

    key: str
    label: str
    reason: str
    icon: str
    summary: str
    alert: int | None = Field(description="The `seq` of the alert that it is based on.")


class ChangedSetting(BaseModel):
    field: str
    step: int
    old: Any
    new: Any


class Ancestor(BaseModel):
    """A run that this one was forked from, and the steps that are shared with it."""

    id: str
    name: str
    upto: int
    before: int


class RunDetail(RunSummary):
    status: Status
    verdict: Annotated[dict[str, Any], like(Verdict)] | None = Field(description="Null before the first step.")
    config: Annotated[dict[str, Any], like(RunConfig)]
    settings_history: list[ChangedSetting]
    ancestors: list[Ancestor]


def run_summary(run: Run) -> dict[str, Any]:
    """As `RunSummary`: the run's live state and the columns that seldom change."""
    return {
        **run.live_state(),
        "project": run.project.name,
        "tags": [tag.name for tag in run.tags.all()],
        "notes": run.notes,
        "preset": run.preset,
        "created_at": run.created_at.isoformat(),
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "archived_at": run.archived_at.isoformat() if run.archived_at else None,
        "cloned_from": run.cloned_from_id,
        "forked_from": run.forked_from_id,
        "fork_step": run.fork_step,
        "lineage_step": run.lineage_step,
        "colour": run.colour,
        "priority": priority_name(run.priority),
    }
