"""Runs that are trained elsewhere: creating them, sending what they report line by line, and ending them."""

from __future__ import annotations

from typing import Annotated, Any

from django.db import transaction
from pydantic import BaseModel, ConfigDict, Field

from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.label_fields import Notes, Project, Tags, Text
from webapp.api.parameters import unpacked_body
from webapp.api.problems import Problem
from webapp.api.schemas import RunSummary, run_summary
from webapp.members.choices import project_for_new
from webapp.runs import ingesting
from webapp.runs.labels import label
from webapp.runs.models import Run

resource = Resource(tag="Runs trained elsewhere")

MOST_BYTES = 8 * 1024 * 1024
MOST_UNPACKED = 64 * 1024 * 1024
MOST_LINES = 10_000
REJECTED_LISTED = 100


class ExternalRun(Fields):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"source": "verl", "name": "a run", "project": "lakes"}]}
    )

    source: Text = Field(min_length=1, max_length=40, description="What trains it, such as verl or TRL.")
    name: Text = Field(default="", max_length=80, description="Generated if left out.")
    environment: Text = Field(default="elsewhere", min_length=1, max_length=60, description="What it is trained on.")
    model: Text = Field(default="", max_length=500, description="What is trained.")
    steps: int = Field(default=0, ge=0, le=100_000_000, description="Training steps, if their number is known.")
    config: dict[str, Any] = Field(default_factory=dict, description="Its configuration, kept as it is.")
    project: Project = ""
    tags: Tags = Field(default_factory=list)
    notes: Notes = ""


class CreatedRun(RunSummary):
    next_seq: int = Field(description="The `seq` of the first line.")


class RejectedLine(BaseModel):
    line: int = Field(description="Counts from 1.")
    seq: int | None
    reason: str


class Received(BaseModel):
    accepted: int
    duplicates: int = Field(description="Lines whose `seq` is not new; they changed nothing.")
    gaps: int = Field(description="Number of `seq` values that no line had.")
    dropped_values: int = Field(description="Values that are not finite.")
    rejected: list[RejectedLine] = Field(description=f"The first {REJECTED_LISTED} lines that were not stored.")
    rejected_count: int
    next_seq: int


class Ending(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"succeeded": True}]})

    succeeded: bool
    reason: Text = Field(default="", max_length=500, description="Why it ended, for its page.")


@resource.post("external-runs/", route="external_runs", scope=Scope.INGEST, status=201, idempotent=True)
def create_external_run(call: Call, body: ExternalRun) -> Annotated[dict[str, Any], CreatedRun]:
    """Create a run that is trained elsewhere and reports its metrics here."""
    with transaction.atomic():
        run = ingesting.create(
            call.user,
            source=body.source,
            name=body.name,
            environment=body.environment,
            model=body.model,
            steps=body.steps,
            config=body.config,
            project=project_for_new(call.user, body.project, create=True),
        )
        label(run, call.user, tags=body.tags, notes=body.notes)
    return {**run_summary(run), "next_seq": 1}


@resource.post(
    "runs/{run_id}/lines",
    scope=Scope.INGEST,
    most_bytes=MOST_BYTES,
    body_media="application/x-ndjson",
    problems={409: "The run is not trained elsewhere, or has ended."},
)
def send_lines(call: Call, run: Run) -> Received:
    """Send what a run that is trained elsewhere reports: metrics, groups, trajectories, evaluations.

    The body has a JSON object on each line, and may be compressed (`Content-Encoding: gzip`). Each has a `seq`, a
    `step` and one of:

    `metrics`, such as `{"seq": 7, "step": 3, "metrics": {"reward/mean": 0.5}}`. Those of one step are merged. The names
    that RAGEN, verl and TRL have for metrics of the Glossary become the Glossary's.

    `groups`: what every trajectory of the step returned, by prompt, such as `[{"returns": [0, 1], "successes": [false,
    true], "seed": 5, "kept": true}]`. Reward, success and the standard deviation within groups are computed from them.

    `trajectories`: chats with `role` and `content`, of which messages of the assistant may have the `actions` that were
    played, the `reward` that followed, and the number of `tokens`, such as `[{"group": 0, "member": 1, "return": 1,
    "success": true, "messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…", "reward":
    1}]}]`. They may also have `environment`, `seed`, `advantage`, `kept` and `facts`; the line may have `"split":
    "validation"`, and may be of an earlier step.

    `evaluation`: held-out episodes, such as `{"episodes": 256, "successes": 61, "mean_return": 0.2}`.

    `seq` grows from line to line; lines that arrived before change nothing, so that a batch can be sent again. A wrong
    line is rejected with the reason, and the others are stored. A batch without lines is answered with `next_seq`.
    """
    _own(call, run)
    lines = unpacked_body(call.request, MOST_BYTES, MOST_UNPACKED).split(b"\n")
    if len(lines) > MOST_LINES + 1:
        raise Problem(413, f"The body has {len(lines):,} lines; the limit is {MOST_LINES:,}", "Send less at once.")
    try:
        batch = ingesting.receive(run, lines)
    except ingesting.Ended as ended:
        raise Problem(409, f"The run is {str(ended).lower()}", "Create another run.") from None
    return Received(
        accepted=batch.accepted,
        duplicates=batch.duplicates,
        gaps=batch.gaps,
        dropped_values=batch.dropped_values,
        rejected=[
            RejectedLine(line=one.line, seq=one.seq, reason=one.reason) for one in batch.rejected[:REJECTED_LISTED]
        ],
        rejected_count=len(batch.rejected),
        next_seq=batch.position.seq + 1,
    )


@resource.post(
    "runs/{run_id}/finish",
    scope=Scope.INGEST,
    problems={409: "The run is not trained elsewhere, or has ended."},
)
def finish_external_run(call: Call, run: Run, body: Ending) -> Annotated[dict[str, Any], RunSummary]:
    """End a run that is trained elsewhere."""
    _own(call, run)
    if not ingesting.finish(run, call.user, succeeded=body.succeeded, reason=body.reason):
        raise Problem(409, f"The run is {run.get_state_display().lower()}", "Retrieve the run and check its state.")
    run.refresh_from_db()
    return run_summary(run)


def _own(call: Call, run: Run) -> None:
    if not ingesting.is_elsewhere(run):
        raise Problem(409, "The run is trained here", "Send to a run created by `create_external_run`.")
    if run.owner_id != call.user.pk:
        raise Problem(403, "The run belongs to another user", "Send to a run of your own.")
