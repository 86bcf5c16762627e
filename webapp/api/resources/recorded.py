"""What a run recorded besides metrics: alerts, held-out evaluations, and trajectories."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field

from engine.errors import RunDirectoryError
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.resources.telemetry import Number
from webapp.evaluations.models import Evaluation
from webapp.runs.models import Alert, Run, SupersededStep
from webapp.trajectories import services
from webapp.trajectories.chat import messages_of
from webapp.trajectories.models import Trajectory

resource = Resource(tag="Alerts, held-out success and trajectories")

MOST_ALERTS = 1000
MOST_TRAJECTORIES = 500
MOST_SUPERSEDED = 500
MOST_WITH_MESSAGES = 20
NONE: frozenset[str] = frozenset()
OF_THE_FILE = frozenset({"messages", "played", "unreadable"})

Model = TypeVar("Model", bound=BaseModel)


class AlertRow(BaseModel):
    seq: int = Field(description="Number of its event; its evidence is at /runs/<id>/alerts/<seq>/.")
    step: int
    time: float
    rule: str
    severity: Literal["watch", "warn", "critical", "dead"]
    message: str
    metric: str
    value: float
    baseline: float | None
    since: int | None = Field(description="The first step of the breach.")
    fork_before: int | None = Field(description="Checkpoints of earlier steps are good.")
    action: str


class AlertList(BaseModel):
    alerts: list[AlertRow] = Field(description=f"Alerts that still count, newest first, at most {MOST_ALERTS:,}.")


class HeldOutRow(BaseModel):
    step: int
    environment: str
    episodes: int
    successes: int
    success: float
    low: float = Field(description="Of the 95% Wilson interval.")
    high: float
    mean_return: float
    temperature: float
    final: bool
    requested: bool = Field(description="By a user, not by the run's schedule.")
    problems: int = Field(description="Distinct ones; 0 if it is not known.")
    trained_on: int = Field(description="Episodes whose problem the run has trained on.")


class HeldOutList(BaseModel):
    evaluations: list[HeldOutRow] = Field(description="Oldest first.")


class TrajectoryQuery(Fields):
    step: Number | None = Field(default=None, description="Only of this step; by default of all.")
    split: Literal["train", "validation"] | None = Field(default=None, description="Only of this split.")
    success: Literal["0", "1"] | None = Field(default=None, description="Only with or without success.")
    group: Number | None = Field(default=None, description="Only members of this group.")
    superseded: Literal["0", "1"] = Field(
        default="0",
        description="`1` for those of steps that a later attempt repeated, since it resumed from an earlier step.",
    )
    messages: Literal["0", "1"] = Field(
        default="0", description=f"`1` for the text of each turn too; then at most {MOST_WITH_MESSAGES}."
    )
    limit: int = Field(default=50, ge=1, le=MOST_TRAJECTORIES, description="The most trajectories.")
    after: Number | None = Field(default=None, description="The `next` of the previous page.")


class TurnText(BaseModel):
    actions: list[str] = Field(description="Actions that were played.")
    reward: float | None
    parse: str = Field(description="`ok`, or how the response is malformed.")


class TrajectoryRow(BaseModel):
    id: int = Field(description="The reader is at /runs/<id>/trajectories/<id>/.")
    step: int
    split: str
    environment: str
    group: int
    member: int
    seed: int
    success: bool
    episode_return: float
    advantage: float | None
    group_std: float | None = Field(description="Standard deviation of returns in the group.")
    kept: bool | None = Field(description="By the group filter.")
    turns: int
    response_tokens: int
    stop: str
    attempt: int
    superseded: bool = Field(description="Whether a later attempt repeated the step.")
    messages: list[dict[str, str]] | None = Field(default=None, description="With `messages=1`: the whole chat.")
    played: list[TurnText] | None = Field(default=None, description="With `messages=1`: a row for each response.")
    unreadable: str = Field(default="", description="With `messages=1`: why there is no text.")


class SupersededRow(BaseModel):
    attempt: int
    superseded_by: int = Field(description="The attempt that resumed from an earlier step.")
    step: int
    time: float
    tokens: int
    seconds: float
    metrics: dict[str, float]


class SupersededList(BaseModel):
    steps: list[SupersededRow] = Field(description="By attempt and step.")
    next: int | None = Field(description="The next `after`; null if this is the last page.")


class SupersededQuery(Fields):
    after: Number | None = Field(default=None, description="The `next` of the previous page.")


class TrajectoryPage(BaseModel):
    trajectories: list[TrajectoryRow]
    next: int | None = Field(description="The next `after`; null if this is the last page.")


@resource.get("runs/{run_id}/alerts")
def list_alerts(call: Call, run: Run) -> AlertList:
    """List the alerts of a run."""
    rows = run.alerts.order_by("-seq")[:MOST_ALERTS]
    return AlertList(alerts=[_fields(AlertRow, row) for row in rows])


@resource.get("runs/{run_id}/held-out", route="held_out")
def list_held_out_evaluations(call: Call, run: Run) -> HeldOutList:
    """List the held-out evaluations of a run."""
    rows = Evaluation.objects.filter(run=run).order_by("step", "environment", "final")
    return HeldOutList(evaluations=[_fields(HeldOutRow, row) for row in rows])


@resource.get("runs/{run_id}/superseded-steps", route="superseded_steps")
def list_superseded_steps(call: Call, run: Run, query: SupersededQuery) -> SupersededList:
    """List the metrics of steps that a later attempt repeated, since it resumed from an earlier step.

    No other endpoint for metrics has them. To page through them, send the `next` of an answer as the next `after`.
    """
    rows = run.superseded_steps.order_by("seq").filter(seq__gt=query.after or 0)
    found = list(rows[: MOST_SUPERSEDED + 1])
    shown = found[:MOST_SUPERSEDED]
    return SupersededList(
        steps=[_fields(SupersededRow, row) for row in shown],
        next=shown[-1].seq if len(found) > MOST_SUPERSEDED else None,
    )


@resource.get("runs/{run_id}/trajectories")
def list_trajectories(call: Call, run: Run, query: TrajectoryQuery) -> TrajectoryPage:
    """List recorded trajectories, newest recorded first.

    With `messages=1` each has its chat, and the actions and the reward of each response. To page through them, send the
    `next` of an answer as the next `after`.
    """
    given: dict[str, Any] = {"step": query.step, "split": query.split, "group": query.group, "pk__lt": query.after}
    if query.success is not None:
        given["success"] = query.success == "1"
    given["superseded"] = query.superseded == "1"
    recorded = Trajectory.all_attempts.filter(run=run)
    rows = recorded.filter(**{name: value for name, value in given.items() if value is not None})
    most = min(query.limit, MOST_WITH_MESSAGES) if query.messages == "1" else query.limit
    found = list(rows.order_by("-pk").select_related("run")[: most + 1])
    shown = found[:most]
    return TrajectoryPage(
        trajectories=[_trajectory(row, with_text=query.messages == "1") for row in shown],
        next=shown[-1].pk if len(found) > most else None,
    )


def _trajectory(row: Trajectory, *, with_text: bool) -> TrajectoryRow:
    shown = _fields(TrajectoryRow, row, without=OF_THE_FILE)
    if not with_text:
        return shown
    try:
        record = services.record(row)
    except RunDirectoryError as error:
        return shown.model_copy(update={"unreadable": error.message})
    played = [
        TurnText(
            actions=[str(action) for action in turn.get("executed") or []],
            reward=turn.get("reward"),
            parse=str(turn.get("parse", "ok")),
        )
        for turn in record["turns"]
    ]
    return shown.model_copy(update={"messages": messages_of(record), "played": played})


def _fields(
    model: type[Model], row: Alert | Evaluation | SupersededStep | Trajectory, *, without: frozenset[str] = NONE
) -> Model:
    return model(**{name: getattr(row, name) for name in model.model_fields if name not in without})
