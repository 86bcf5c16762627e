"""What a run recorded besides metrics and trajectories: alerts, held-out evaluations, superseded steps."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import BaseModel, Field

from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.resources.telemetry import Number
from webapp.evaluations.models import Evaluation
from webapp.runs.models import Alert, RecordProblem, Run, SupersededStep

resource = Resource(tag="Alerts, held-out success and trajectories")

MOST_ALERTS = 1000
MOST_SUPERSEDED = 500

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


class RecordProblemRow(BaseModel):
    kind: Literal["line", "newer", "gap", "replaced", "gone", "conflict", "behind", "late"]
    offset: int = Field(description="Bytes from the beginning of `events.jsonl`.")
    reason: str


class AlertList(BaseModel):
    alerts: list[AlertRow] = Field(description=f"Alerts that still count, newest first, at most {MOST_ALERTS:,}.")
    record_problems: list[RecordProblemRow] = Field(
        description="What is wrong with the record of the run: lines that are no events, and events that are missing. "
        f"In the order in which they were found, at most {MOST_ALERTS:,}."
    )


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


@resource.get("runs/{run_id}/alerts", in_brief=True)
def list_alerts(call: Call, run: Run) -> AlertList:
    """List the alerts of a run, and what is wrong with its record."""
    rows = run.alerts.order_by("-seq")[:MOST_ALERTS]
    problems = run.record_problems.order_by("pk")[:MOST_ALERTS]
    return AlertList(
        alerts=[_fields(AlertRow, row) for row in rows],
        record_problems=[_fields(RecordProblemRow, row) for row in problems],
    )


@resource.get("runs/{run_id}/held-out", route="held_out", in_brief=True)
def list_held_out_evaluations(call: Call, run: Run) -> HeldOutList:
    """List the held-out evaluations of a run."""
    rows = Evaluation.objects.filter(run=run).order_by("step", "environment", "final")
    return HeldOutList(evaluations=[_fields(HeldOutRow, row) for row in rows])


@resource.get("runs/{run_id}/superseded-steps", route="superseded_steps", in_brief=True)
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


def _fields(model: type[Model], row: Alert | Evaluation | RecordProblem | SupersededStep) -> Model:
    return model(**{name: getattr(row, name) for name in model.model_fields})
