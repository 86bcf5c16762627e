"""Suites, evaluations on them, and evaluations that were played elsewhere."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http.response import FileResponse, HttpResponseBase
from pydantic import BaseModel, ConfigDict, Field

from engine.errors import StarboardError
from engine.suites.outcomes import OUTCOMES
from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Media, Resource
from webapp.api.parameters import raw_body
from webapp.api.problems import Problem
from webapp.jobs import JobState, Refused
from webapp.suites import catalogue, importing, services
from webapp.suites.models import Suite, SuiteEvaluation
from webapp.suites.policies import SEPARATOR
from webapp.suites.services import AlreadyEvaluated

resource = Resource(tag="Suites and evaluations")

PARQUET = "application/vnd.apache.parquet"
MOST_BYTES = 16 * 1024 * 1024
MOST_LINES = 10_000
REJECTED_LISTED = 100
PolicyName = Literal["checkpoint", "directory", "endpoint"]


class SuiteItemAnswer(BaseModel):
    name: str
    kind: str
    problems: int
    samples: int


class SuiteAnswer(BaseModel):
    name: str
    title: str
    description: str
    version: int = Field(description="The newest one.")
    key: str = Field(description="Comparability key, with the suite's own samples per problem.")
    built_in: bool
    frozen: bool = Field(description="Whether it has been evaluated, so that a change makes a new version.")
    episodes: int
    items: list[SuiteItemAnswer]


class SuiteList(BaseModel):
    suites: list[SuiteAnswer]


class ItemAnswer(BaseModel):
    """Rates are from 0 to 1, with 95% intervals over problems; null while nothing has a score."""

    name: str
    problems: int
    samples: int
    planned: int = Field(description="Episodes.")
    played: int
    scored: int
    successes: int
    success: float | None
    low: float | None
    high: float | None
    interval: str = Field(description="The method of the interval.")
    mean_return: float | None
    return_low: float | None
    return_high: float | None
    mean_turns: float | None
    turns: int
    actions: int
    tokens: int | None = Field(description="That were sampled; null if they are not known.")
    prompt_tokens: int | None
    responses: int
    malformed: int
    trained_on: int | None = Field(description="Episodes of problems that the run trained on; null if not known.")
    seconds: float
    pass_at: dict[str, float]
    pass_all: dict[str, float]
    stops: dict[str, int]


class EvaluationAnswer(BaseModel):
    id: int
    suite: str
    version: int
    samples: int | None = Field(description="Per problem, in place of the suite's; null for the suite's own.")
    key: str = Field(description="Comparability key: only evaluations with the same one are ranked together.")
    state: JobState
    message: str
    policy: PolicyName
    model: str
    endpoint: str
    run: str | None
    run_name: str
    step: int | None
    training_seed: int | None
    configuration: str = Field(description="A hash that the training seeds of one configuration share.")
    weights: str = Field(description="A hash of the weights; of an endpoint, of its address and its name.")
    imported: bool
    planned: int = Field(description="Episodes.")
    played: int
    scored: int
    successes: int
    success: float | None = Field(description="Mean over the items, with its 95% interval.")
    low: float | None
    high: float | None
    tokens: int | None
    seconds: float
    created_at: str
    ended_at: str | None


class EvaluationDetail(EvaluationAnswer):
    items: list[ItemAnswer]
    conditions: list[dict[str, Any]] = Field(description="What the key is the hash of.")


class EvaluationPage(BaseModel):
    evaluations: list[EvaluationAnswer]
    next: int | None = Field(description="The `after` of the next page; null if this is the last.")


class EvaluationFilter(Fields):
    suite: str | None = Field(default=None, description="Only evaluations on this suite.")
    state: JobState | None = Field(default=None, description="Only evaluations in this state.")
    run: str | None = Field(default=None, description="Only those of this run's checkpoints.")
    key: str | None = Field(default=None, description="Only those with this comparability key.")
    limit: int = Field(default=50, ge=1, le=500, description="The most evaluations on a page.")
    after: int | None = Field(default=None, ge=0, description="The `next` of the previous page.")


class Evaluate(Fields):
    """A suite, and one model: a checkpoint of a run, a model directory, or an endpoint."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"suite": "frozen-lake", "policy": "checkpoint", "run": "…", "step": 60}]},
    )

    suite: str = Field(max_length=60, description="The name of a suite; its newest version is played.")
    policy: PolicyName
    run: str = Field(default="", max_length=10, description="Of a checkpoint: the ID of its run.")
    step: int = Field(default=0, ge=0, description="Of a checkpoint: its step.")
    directory: str = Field(default="", max_length=500, description="A bundled model, or a directory of the site.")
    endpoint: str = Field(default="", max_length=500, description="The address of an endpoint, for administrators.")
    endpoint_model: str = Field(default="", max_length=500, description="The model's name there.")
    key_variable: str = Field(default="", max_length=100, description="The workers' variable with its API key.")
    samples: int | None = Field(default=None, ge=1, le=1024, description="Episodes per problem, if not the suite's.")
    again: bool = Field(default=False, description="Evaluate even if the same inputs have been evaluated.")


class EvaluationControl(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"action": "stop"}]})

    action: Literal["stop", "resume"]


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


@resource.get("suites/", route="suites")
def list_suites(call: Call) -> SuiteList:
    """List the suites that models can be evaluated on."""
    return SuiteList(suites=[_suite(suite) for suite in catalogue.listed()])


@resource.get("evaluations/", route="evaluations")
def list_evaluations(call: Call, query: EvaluationFilter) -> Annotated[dict[str, Any], EvaluationPage]:
    """List evaluations on suites, newest first."""
    rows = SuiteEvaluation.objects.select_related("version__suite").order_by("-pk")
    chosen = {
        "version__suite__name": query.suite,
        "state": query.state,
        "run_id": query.run,
        "key": query.key,
        "pk__lt": query.after,
    }
    rows = rows.filter(**{name: value for name, value in chosen.items() if value is not None})
    found = list(rows[: query.limit + 1])
    following = found[query.limit - 1].pk if len(found) > query.limit else None
    return {"evaluations": [_answer(one) for one in found[: query.limit]], "next": following}


@resource.get("evaluations/{evaluation_id}/", route="evaluation")
def get_evaluation(call: Call, evaluation_id: int) -> Annotated[dict[str, Any], EvaluationDetail]:
    """Retrieve an evaluation with the results of each item."""
    return _detail(_evaluation(evaluation_id))


@resource.get("evaluations/{evaluation_id}/outcomes", route="evaluation_outcomes")
def download_outcomes(
    call: Call, evaluation_id: int
) -> Annotated[HttpResponseBase, Media(type=PARQUET, description="A row per problem and sample.")]:
    """Download the outcome of every episode as a Parquet file."""
    path = _evaluation(evaluation_id).folder / OUTCOMES
    if path.is_symlink() or not path.is_file():
        raise Problem(404, "There are no outcomes yet", "Wait until the evaluation has ended.")
    name = f"evaluation-{evaluation_id}.parquet"
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type=PARQUET)


@resource.post(
    "evaluations/",
    route="evaluations",
    scope=Scope.LAUNCH,
    status=201,
    idempotent=True,
    problems={409: "The same inputs have been evaluated, or the model cannot be."},
)
def evaluate_on_suite(call: Call, body: Evaluate) -> Annotated[dict[str, Any], EvaluationDetail]:
    """Evaluate a model on a suite. A worker plays it; the same inputs are evaluated once unless `again` is set."""
    suite = catalogue.listed().filter(name=body.suite).first()
    if suite is None:
        raise Problem(404, f"There is no suite {body.suite!r}", "List them with GET /api/v1/suites/.")
    data = {
        "policy": body.policy,
        "checkpoint": f"{body.run}{SEPARATOR}{body.step}",
        "directory": body.directory,
        "endpoint": body.endpoint,
        "endpoint_model": body.endpoint_model,
        "key_variable": body.key_variable,
        "samples": "" if body.samples is None else str(body.samples),
        "again": "1" if body.again else "",
    }
    try:
        made = services.submit(suite.latest, data, call.user)
    except Refused as refusal:
        raise _conflict(refusal) from None
    return _detail(made)


@resource.post(
    "evaluations/{evaluation_id}/control",
    route="evaluation_control",
    scope=Scope.LAUNCH,
    problems={409: "The state of the evaluation does not allow the action."},
)
def control_evaluation(
    call: Call, evaluation_id: int, body: EvaluationControl
) -> Annotated[dict[str, Any], EvaluationDetail]:
    """Stop or resume an evaluation. Episodes that have been played are kept."""
    found = _evaluation(evaluation_id)
    try:
        if body.action == "resume":
            services.resume(found)
        elif not found.stop():
            raise Refused("There is nothing to stop: it is over.")
    except Refused as refusal:
        raise _conflict(refusal) from None
    found.refresh_from_db()
    return _detail(found)


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
        raise _conflict(refusal) from None
    return _detail(made)


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
        return _detail(importing.finish(_arriving(call, evaluation_id)))
    except Refused as refusal:
        raise _conflict(refusal) from None
    except StarboardError as error:
        raise Problem(409, error.message, error.remedy) from None


def _evaluation(pk: int) -> SuiteEvaluation:
    found = SuiteEvaluation.objects.select_related("version__suite").filter(pk=pk).first()
    if found is None:
        raise Problem(404, f"There is no evaluation {pk}", "List them with GET /api/v1/evaluations/.")
    return found


def _arriving(call: Call, pk: int) -> SuiteEvaluation:
    found = _evaluation(pk)
    if not found.imported or found.owner_id != call.user.pk:
        raise Problem(409, f"Evaluation {pk} is not one that you send", "Announce your own first.")
    if found.state != JobState.STOPPED:
        raise Problem(409, f"Evaluation {pk} is complete", "There is nothing left to send.")
    return found


def _conflict(refusal: Refused) -> Problem:
    remedy = "Send `again` to evaluate it all the same." if isinstance(refusal, AlreadyEvaluated) else "Correct that."
    return Problem(409, str(refusal).rstrip("."), remedy)


def _suite(suite: Suite) -> SuiteAnswer:
    version = suite.latest
    document = version.parsed()
    return SuiteAnswer(
        name=suite.name,
        title=document.title or suite.name,
        description=document.description,
        version=version.number,
        key=version.key,
        built_in=suite.built_in,
        frozen=version.frozen_at is not None,
        episodes=document.episodes,
        items=[
            SuiteItemAnswer(
                name=item.name, kind=item.environment.kind, problems=len(item.problems), samples=item.samples
            )
            for item in document.items
        ],
    )


def _answer(one: SuiteEvaluation) -> dict[str, Any]:
    names = (
        "samples", "key", "state", "message", "policy", "model", "endpoint", "run_name", "step", "training_seed",
        "configuration", "weights", "imported", "planned", "played", "scored", "successes", "success", "low", "high",
        "tokens", "seconds",
    )  # fmt: skip
    return {
        "id": one.pk,
        "suite": one.version.suite.name,
        "version": one.version.number,
        "run": one.run_id,
        **{name: getattr(one, name) for name in names},
        "created_at": one.created_at.isoformat(),
        "ended_at": one.ended_at.isoformat() if one.ended_at else None,
    }


def _detail(one: SuiteEvaluation) -> dict[str, Any]:
    left_out = {"order"}
    items = [
        {name: value for name, value in item.numbers().items() if name not in left_out} for item in one.items.all()
    ]
    return {**_answer(one), "items": items, "conditions": one.conditions}
