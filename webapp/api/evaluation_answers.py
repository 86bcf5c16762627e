"""Suites and evaluations on them as the API answers with them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from webapp.api.problems import Problem
from webapp.jobs import JobState, Refused
from webapp.projects.access import readable, require
from webapp.projects.models import Role
from webapp.suites.definition_text import definition_of
from webapp.suites.models import Suite, SuiteEvaluation
from webapp.suites.services import AlreadyEvaluated

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
    definition: str = Field(description="TOML, from which another suite can be defined.")


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
    tokens: int | None = Field(description="Tokens that were sampled; null if not known.")
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
    samples: int | None = Field(description="Samples per problem, instead of the suite's; null for the suite's own.")
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


def evaluation_at(pk: int, needs: Role = Role.VIEWER) -> SuiteEvaluation:
    found = readable(SuiteEvaluation.objects.select_related("version__suite").filter(pk=pk)).first()
    if found is None:
        raise Problem(404, f"There is no evaluation {pk}", "List them with GET /api/v1/evaluations/.")
    require(found, needs)
    return found


def conflict(refusal: Refused) -> Problem:
    remedy = "Send `again` to evaluate it all the same." if isinstance(refusal, AlreadyEvaluated) else "Correct that."
    return Problem(409, str(refusal).rstrip("."), remedy)


def suite_answer(suite: Suite) -> SuiteAnswer:
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
        definition=definition_of(version),
        items=[
            SuiteItemAnswer(
                name=item.name, kind=item.environment.kind, problems=len(item.problems), samples=item.samples
            )
            for item in document.items
        ],
    )


def evaluation_answer(one: SuiteEvaluation) -> dict[str, Any]:
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


def evaluation_detail(one: SuiteEvaluation) -> dict[str, Any]:
    left_out = {"order"}
    items = [
        {name: value for name, value in item.numbers().items() if name not in left_out} for item in one.items.all()
    ]
    return {**evaluation_answer(one), "items": items, "conditions": one.conditions}
