"""Evaluations on suites that were played elsewhere: announcing one, sending its episodes, and ending it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from engine.errors import StarboardError
from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.evaluation_answers import EvaluationDetail, PolicyName, conflict, evaluation_at, evaluation_detail
from webapp.api.parameters import raw_body
from webapp.api.problems import Problem
from webapp.jobs import JobState, Refused
from webapp.projects.models import Role
from webapp.suites import importing
from webapp.suites.models import SuiteEvaluation

resource = Resource(tag="Evaluations played elsewhere")

MOST_BYTES = 16 * 1024 * 1024
MOST_LINES = 10_000
REJECTED_LISTED = 100


class PlayedPolicy(Fields):
    kind: PolicyName
    model: str = Field(max_length=500)
    endpoint: str = Field(default="", max_length=500)
    run: str = Field(default="", max_length=80, description="The name of the run's directory.")
    step: int | None = Field(default=None, ge=0, lt=2**31)
    training_seed: int | None = Field(default=None, ge=0, lt=2**31)
    configuration: str = Field(default="", max_length=64)
    weights: str = Field(default="", max_length=64)


class PlayedEvaluation(Fields):
    """What `about.json` of an evaluation's directory says."""

    suite: str = Field(max_length=60)
    version: int = Field(ge=1, lt=2**31)
    samples: int | None = Field(default=None, ge=1, le=1024)
    key: str = Field(min_length=64, max_length=64)
    conditions: list[dict[str, Any]] = Field(default_factory=list, max_length=32)
    policy: PlayedPolicy
    versions: dict[str, str] = Field(default_factory=dict, max_length=20)
    again: bool = False


class RejectedEpisode(BaseModel):
    line: int = Field(description="Counts from 1.")
    reason: str


class ReceivedEpisodes(BaseModel):
    accepted: int
    rejected: list[RejectedEpisode] = Field(description=f"The first {REJECTED_LISTED} lines that were not stored.")
    rejected_count: int
    missing: int = Field(description="Episodes that have not arrived.")


@resource.post(
    "played-evaluations/",
    route="played_evaluations",
    scope=Scope.INGEST,
    problems={409: "The site has no such suite, or the same inputs have been evaluated."},
)
def send_evaluation(call: Call, body: PlayedEvaluation) -> Annotated[dict[str, Any], EvaluationDetail]:
    """Announce an evaluation that was played elsewhere, such as by `python -m engine evaluate --suite … --send …`.

    It is that of an earlier request if that one's episodes have not all arrived.
    """
    try:
        made = importing.begin(
            call.user,
            suite=body.suite,
            version=body.version,
            samples=body.samples,
            key=body.key,
            conditions=body.conditions,
            policy=body.policy.model_dump(),
            weights=body.policy.weights,
            versions=body.versions,
            again=body.again,
        )
    except Refused as refusal:
        raise conflict(refusal) from None
    return evaluation_detail(made)


@resource.post(
    "played-evaluations/{evaluation_id}/episodes",
    route="played_episodes",
    scope=Scope.INGEST,
    most_bytes=MOST_BYTES,
    body_media="application/x-ndjson",
    problems={409: "It was not played elsewhere, or is complete."},
)
def send_episodes(call: Call, evaluation_id: int) -> ReceivedEpisodes:
    """Send episodes, a JSON object on each line: the outcome's fields, and the `trajectory`.

    Episodes that arrived before change nothing, so that a batch can be sent again. A wrong line is rejected with the
    reason, and the others are stored.
    """
    found = _arriving(call, evaluation_id)
    lines = [line for line in raw_body(call.request, MOST_BYTES).split(b"\n") if line.strip()]
    if len(lines) > MOST_LINES:
        raise Problem(413, f"The body has {len(lines):,} lines", f"Send at most {MOST_LINES:,} at once.")
    try:
        accepted, rejected = importing.add(found, lines)
    except StarboardError as error:
        raise Problem(409, error.message, error.remedy) from None
    found.refresh_from_db()
    return ReceivedEpisodes(
        accepted=accepted,
        rejected=[RejectedEpisode(line=line, reason=reason) for line, reason in rejected[:REJECTED_LISTED]],
        rejected_count=len(rejected),
        missing=found.planned - found.played,
    )


@resource.post(
    "played-evaluations/{evaluation_id}/finish",
    route="finish_played",
    scope=Scope.INGEST,
    problems={409: "Episodes are missing, or it is complete."},
)
def finish_sent_evaluation(call: Call, evaluation_id: int) -> Annotated[dict[str, Any], EvaluationDetail]:
    """End an evaluation whose episodes have all arrived. Its numbers are computed from them."""
    try:
        return evaluation_detail(importing.finish(_arriving(call, evaluation_id), call.user))
    except Refused as refusal:
        raise conflict(refusal) from None
    except StarboardError as error:
        raise Problem(409, error.message, error.remedy) from None


def _arriving(call: Call, pk: int) -> SuiteEvaluation:
    found = evaluation_at(pk, Role.EDITOR)
    if not found.imported or found.owner_id != call.user.pk:
        raise Problem(409, f"Evaluation {pk} is not one that you are sending", "Announce your own first.")
    if found.state != JobState.STOPPED:
        raise Problem(409, f"Evaluation {pk} is complete", "There is nothing left to send.")
    return found
