"""Projects: listing those that the caller reads, and creating one. Members are changed on pages only."""

from __future__ import annotations

from typing import Annotated, Any

from django.db.models import Count, Q
from pydantic import BaseModel, ConfigDict, Field

from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.label_fields import Text
from webapp.api.problems import invalid_fields
from webapp.members import services
from webapp.projects.access import access_of, readable_projects
from webapp.projects.models import LONGEST_NAME, Project

resource = Resource(tag="Projects")


class ProjectAnswer(BaseModel):
    name: str
    slug: str
    description: str
    role: str = Field(description="Yours: viewer, editor or admin.")
    runs: int = Field(description="Without archived ones.")


class ProjectList(BaseModel):
    projects: list[ProjectAnswer] = Field(description="By name.")


class CreateProject(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Lakes"}]})

    name: Text = Field(max_length=LONGEST_NAME)
    description: Text = Field(default="", max_length=services.LONGEST_DESCRIPTION)


@resource.get("projects/", route="projects")
def list_projects(call: Call) -> Annotated[dict[str, Any], ProjectList]:
    """List the projects that you are a member of; an administrator of the installation has all."""
    return {"projects": [_answer(call, row) for row in readable_projects().annotate(active=_active())]}


@resource.post("projects/", route="projects", scope=Scope.LAUNCH, status=201)
def create_project(call: Call, body: CreateProject) -> Annotated[dict[str, Any], ProjectAnswer]:
    """Create a project. You are its admin."""
    try:
        made = services.create(call.user, body.name, body.description)
    except services.Refused as refusal:
        raise invalid_fields({"name": str(refusal)}, "Nothing was created.") from None
    return _answer(call, Project.objects.annotate(active=_active()).get(pk=made.pk))


def _active() -> Count:
    return Count("runs", filter=Q(runs__archived_at=None))


def _answer(call: Call, row: Project) -> dict[str, Any]:
    return {
        "name": row.name,
        "slug": row.slug,
        "description": row.description,
        "role": str(access_of(call.user).role_in(row.pk)),
        "runs": row.active,  # type: ignore[attr-defined]
    }
