"""Suites, and evaluations on them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http.response import HttpResponseBase
from pydantic import ConfigDict, Field

from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Media, Resource
from webapp.api.evaluation_answers import (
    EvaluationDetail,
    EvaluationPage,
    PolicyName,
    SuiteAnswer,
    SuiteList,
    conflict,
    evaluation_answer,
    evaluation_at,
    evaluation_detail,
    suite_answer,
)
from webapp.api.problems import Problem, invalid_fields
from webapp.jobs import JobState, Refused
from webapp.projects.access import readable, require
from webapp.projects.models import Role
from webapp.suites import catalogue, services
from webapp.suites.definition_text import STARTER
from webapp.suites.downloads import PARQUET, outcomes_file
from webapp.suites.drafts import LONGEST, WrongFields
from webapp.suites.models import SuiteEvaluation
from webapp.suites.policies import SEPARATOR

resource = Resource(tag="Suites and evaluations")


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
    endpoint_model: str = Field(default="", max_length=500, description="The model's name at the endpoint.")
    key_variable: str = Field(default="", max_length=100, description="The workers' variable with its API key.")
    samples: int | None = Field(default=None, ge=1, le=1024, description="Episodes per problem, if not the suite's.")
    again: bool = Field(default=False, description="Evaluate even if the same inputs have been evaluated.")


class DefineSuite(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"definition": STARTER}]})

    definition: str = Field(max_length=LONGEST, description="TOML, as in docs/evaluation.md.")
    revises: str = Field(
        default="",
        max_length=60,
        description="A suite that is not bundled, of which this is the next version; by default a new suite.",
    )


class EvaluationControl(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"action": "stop"}]})

    action: Literal["stop", "resume"]


@resource.get("suites/", route="suites")
def list_suites(call: Call) -> SuiteList:
    """List the suites that models can be evaluated on."""
    return SuiteList(suites=[suite_answer(suite) for suite in catalogue.listed()])


@resource.post(
    "suites/", route="suites", scope=Scope.LAUNCH, status=201, problems={404: "You have no such suite to revise."}
)
def define_suite(call: Call, body: DefineSuite) -> SuiteAnswer:
    """Define a suite. Its problems are fixed now; one with a problem that a run may train on is refused."""
    suite = catalogue.listed().filter(name=body.revises, built_in=False).first() if body.revises else None
    if body.revises and suite is None:
        raise Problem(
            404, f"There is no suite {body.revises!r} that can be revised", "Bundled suites cannot be changed."
        )
    if suite is not None:
        require(suite, Role.EDITOR)
    try:
        made = catalogue.define(body.definition, call.user, suite=suite)
    except WrongFields as wrong:
        raise invalid_fields(wrong.errors, "Fix the fields in `errors`. Nothing was saved.") from None
    return suite_answer(made.suite)


@resource.get("evaluations/", route="evaluations")
def list_evaluations(call: Call, query: EvaluationFilter) -> Annotated[dict[str, Any], EvaluationPage]:
    """List evaluations on suites, newest first."""
    rows = readable(SuiteEvaluation.objects.select_related("version__suite")).order_by("-pk")
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
    return {"evaluations": [evaluation_answer(one) for one in found[: query.limit]], "next": following}


@resource.get("evaluations/{evaluation_id}/", route="evaluation")
def get_evaluation(call: Call, evaluation_id: int) -> Annotated[dict[str, Any], EvaluationDetail]:
    """Retrieve an evaluation with the results of each item."""
    return evaluation_detail(evaluation_at(evaluation_id))


@resource.get("evaluations/{evaluation_id}/outcomes", route="evaluation_outcomes")
def download_outcomes(
    call: Call, evaluation_id: int
) -> Annotated[HttpResponseBase, Media(type=PARQUET, description="A row per problem and sample.")]:
    """Download the outcome of every episode as a Parquet file."""
    found = outcomes_file(call.request, evaluation_at(evaluation_id))
    if found is None:
        raise Problem(404, "There are no outcomes yet", "Wait until the evaluation has ended.")
    return found


@resource.post(
    "evaluations/",
    route="evaluations",
    scope=Scope.LAUNCH,
    status=201,
    idempotent=True,
    problems={404: "There is no such suite.", 409: "The same inputs have been evaluated, or the model cannot be."},
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
        raise conflict(refusal) from None
    return evaluation_detail(made)


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
    found = evaluation_at(evaluation_id, Role.EDITOR)
    try:
        if body.action == "resume":
            services.resume(found, call.user)
        elif not services.stop(found, call.user):
            raise Refused("There is nothing to stop: the evaluation has ended.")
    except Refused as refusal:
        raise conflict(refusal) from None
    found.refresh_from_db()
    return evaluation_detail(found)
