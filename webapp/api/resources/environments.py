"""Environments: their versions, defining and editing them, and pre-flights."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.config import EnvironmentConfig
from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Resource, like
from webapp.api.label_fields import Text
from webapp.api.problems import Problem, invalid_fields
from webapp.environments import preflights, services
from webapp.environments.models import PLAYERS, EnvironmentDefinition, EnvironmentVersion, Preflight
from webapp.environments.requests import Refused, checked
from webapp.jobs import JobState
from webapp.jobs import Refused as JobRefused
from webapp.members.choices import project_for_new
from webapp.projects.access import readable, require
from webapp.projects.models import LONGEST_NAME, Role

resource = Resource(tag="Environments")

EXAMPLE: Any = {"kind": "frozen_lake", "parameters": {"size": 5}, "max_turns": 6}


class EnvironmentFilter(Fields):
    archived: Literal["0", "1"] = Field(default="0", description="`1` for archived ones instead of active ones.")


class EnvironmentAnswer(BaseModel):
    id: int
    name: str = Field(description="What `launch_run` takes as `environment`.")
    kind: str
    project: str | None = Field(description="Null for those that ship, which everybody reads.")
    version: int = Field(description="The newest one.")
    config: Annotated[dict[str, Any], like(EnvironmentConfig)]
    archived: bool
    created_at: str


class VersionAnswer(BaseModel):
    number: int
    created_at: str
    config: Annotated[dict[str, Any], like(EnvironmentConfig)]
    facts: dict[str, Any] = Field(description="Measured by a worker; empty until then.")


class EnvironmentDetail(EnvironmentAnswer):
    versions: list[VersionAnswer] = Field(description="Newest first.")


class EnvironmentList(BaseModel):
    environments: list[EnvironmentAnswer] = Field(description="By name.")


class Define(Fields):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "Larger lakes", "config": EXAMPLE}]}
    )

    name: Text = Field(description="Shown in lists, and the environment's name in metrics.")
    config: dict[str, Any] = Field(description="An `EnvironmentConfig`. Fields that are left out have their defaults.")
    project: Text = Field(default="", max_length=LONGEST_NAME, description="Name or slug; empty for your usual one.")


class Edit(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"config": EXAMPLE}]})

    name: Text = Field(default="", description="By default it keeps its name.")
    config: dict[str, Any] = Field(description="The whole `EnvironmentConfig`, of the same kind.")


class Archiving(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"archived": True}]})

    archived: bool = Field(strict=True)


class StartPreflight(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"player": "scripted", "problems": 16}]})

    player: str = Field(default="mixed:0.4", description=f"One of {', '.join(PLAYERS)}.")
    model: Text = Field(default="", max_length=preflights.LONGEST_MODEL, description="The model of the player `model`.")
    problems: int = Field(default=16, ge=1, le=preflights.MOST_PROBLEMS)
    rollouts: int = Field(default=8, ge=1, le=preflights.MOST_ROLLOUTS, description="Episodes of each problem.")
    first_seed: int = Field(default=0, ge=0, le=preflights.LARGEST_SEED)


class PreflightAnswer(BaseModel):
    id: int
    environment: int
    version: int
    state: JobState
    message: str
    player: str
    model: str
    problems: int
    rollouts: int
    report: dict[str, Any] | None = Field(
        description="Report on what was played so far; null before the first problem."
    )


@resource.get("environments/", route="environments")
def list_environments(call: Call, query: EnvironmentFilter) -> Annotated[dict[str, Any], EnvironmentList]:
    """List the environments that runs can be launched on."""
    rows = readable(EnvironmentDefinition.objects.filter(archived_at__isnull=query.archived == "0"))
    rows = rows.select_related("project").prefetch_related("versions").order_by("name")
    return {"environments": [_answer(row) for row in rows]}


@resource.get("environments/{environment_id}/", route="environment")
def get_environment(call: Call, environment: EnvironmentDefinition) -> Annotated[dict[str, Any], EnvironmentDetail]:
    """Retrieve an environment with all its versions."""
    return _detail(environment)


@resource.post("environments/", route="environments", scope=Scope.LAUNCH, status=201)
def define_environment(call: Call, body: Define) -> Annotated[dict[str, Any], EnvironmentDetail]:
    """Define an environment, checked as on its form."""
    project = project_for_new(call.user, body.project)
    name = body.name.strip()
    try:
        config = checked(name, body.config, call.user)
    except Refused as refusal:
        raise invalid_fields(refusal.errors, "Fix the fields in `errors`. Nothing was saved.") from None
    made = services.define(name=name, config=config, owner=call.user, project=project)
    return _detail(made.definition)


@resource.post("environments/{environment_id}/", route="environment", scope=Scope.LAUNCH)
def edit_environment(
    call: Call, environment: EnvironmentDefinition, body: Edit
) -> Annotated[dict[str, Any], EnvironmentDetail]:
    """Edit an environment. A version that a run has used stays as it is: then this is the next one."""
    name = body.name.strip() or environment.name
    try:
        config = checked(name, body.config, call.user, environment)
    except Refused as refusal:
        raise invalid_fields(refusal.errors, "Fix the fields in `errors`. Nothing was saved.") from None
    services.edit(environment, call.user, name=name, config=config)
    return _detail(environment)


@resource.post("environments/{environment_id}/archive", route="archive_environment", scope=Scope.LAUNCH)
def archive_environment(
    call: Call, environment: EnvironmentDefinition, body: Archiving
) -> Annotated[dict[str, Any], EnvironmentDetail]:
    """Hide an environment from lists, or show it again. Its runs keep it."""
    if body.archived:
        services.archive(environment, call.user)
    else:
        services.unarchive(environment, call.user)
    environment.refresh_from_db()
    return _detail(environment)


@resource.post(
    "environments/{environment_id}/preflights",
    route="preflights",
    scope=Scope.LAUNCH,
    needs=Role.VIEWER,
    status=202,
    problems={409: "You have a pre-flight in progress.", 403: "You are not an editor of its project."},
)
def start_preflight(
    call: Call, environment: EnvironmentDefinition, body: StartPreflight
) -> Annotated[dict[str, Any], PreflightAnswer]:
    """Play problems of the newest version several times, to see whether RL has anything to learn."""
    if environment.project_id is None:  # it ships: whoever edits anything may try it
        project_for_new(call.user)
    else:
        require(environment, Role.EDITOR)
    data = {name: str(value) for name, value in body.model_dump().items()}
    try:
        return _preflight(preflights.submit(environment.latest, call.user, data))
    except JobRefused as refusal:
        raise Problem(409, str(refusal).rstrip("."), "Correct that, then try again.") from None


@resource.get("preflights/{preflight_id}/", route="preflight")
def get_preflight(call: Call, preflight_id: int) -> Annotated[dict[str, Any], PreflightAnswer]:
    """Retrieve a pre-flight with its report, also while it is played."""
    return _preflight(_preflight_at(preflight_id))


@resource.post("preflights/{preflight_id}/stop", route="stop_preflight", scope=Scope.LAUNCH)
def stop_preflight(call: Call, preflight_id: int) -> Annotated[dict[str, Any], PreflightAnswer]:
    """Stop a pre-flight."""
    found = _preflight_at(preflight_id)
    require(found, Role.EDITOR)
    preflights.stop(found, call.user)
    found.refresh_from_db()
    return _preflight(found)


def _preflight_at(pk: int) -> Preflight:
    found = readable(Preflight.objects.select_related("version__definition").filter(pk=pk)).first()
    if found is None:
        raise Problem(404, f"There is no pre-flight {pk}", "`start_preflight` answers with its number.")
    return found


def _answer(row: EnvironmentDefinition) -> dict[str, Any]:
    newest = max(row.versions.all(), key=lambda version: version.number)
    return {
        "id": row.pk,
        "name": row.name,
        "kind": newest.kind,
        "project": row.project.name if row.project else None,
        "version": newest.number,
        "config": newest.config,
        "archived": row.archived_at is not None,
        "created_at": row.created_at.isoformat(),
    }


def _detail(row: EnvironmentDefinition) -> dict[str, Any]:
    versions = sorted(row.versions.all(), key=lambda version: -version.number)
    return {**_answer(row), "versions": [_version(one) for one in versions]}


def _version(one: EnvironmentVersion) -> dict[str, Any]:
    return {
        "number": one.number,
        "created_at": one.created_at.isoformat(),
        "config": one.config,
        "facts": one.facts,
    }


def _preflight(one: Preflight) -> dict[str, Any]:
    names = ("state", "message", "player", "model", "problems", "rollouts")
    return {
        "id": one.pk,
        "environment": one.version.definition_id,
        "version": one.version.number,
        **{name: getattr(one, name) for name in names},
        "report": one.report or None,
    }
