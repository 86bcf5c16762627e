"""Imports of rollouts that other trainers wrote: uploading them, and following the worker that reads them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.label_fields import Project, Text
from webapp.api.paging import page
from webapp.api.parameters import unpacked_body
from webapp.api.problems import Problem
from webapp.jobs import JobState, Refused
from webapp.launching import uploads
from webapp.launching.models import RolloutImport
from webapp.launching.uploads import MOST_MEGABYTES, NoRoom, Upload
from webapp.members.choices import project_for_new
from webapp.projects.access import readable, require
from webapp.projects.models import Role

resource = Resource(tag="Imports of rollouts")

MOST_BYTES = 8 * 1024 * 1024
MOST_UNPACKED = MOST_MEGABYTES * 1_000_000
REJECTED_LISTED = 100


class NewImport(Fields):
    file: Text = Field(
        default="rollouts.jsonl",
        min_length=1,
        max_length=200,
        description="The name of the file. Its number is the step of rollouts that state none, as in `20.jsonl`.",
    )
    name: Text = Field(default="", max_length=80, description="Name of the run; generated if left out.")
    split: Literal["", "train", "validation"] = Field(
        default="", description="Split of rollouts that do not state one."
    )
    project: Project = ""


class ImportFilter(Fields):
    state: JobState | None = Field(default=None, description="Only imports in this state.")
    limit: int = Field(default=50, ge=1, le=500, description="The most imports on a page.")
    after: str | None = Field(default=None, description="The cursor `next` of the previous page.")


class RejectedRollout(BaseModel):
    file: str
    line: int = Field(description="Counts from 1.")
    reason: str


class ImportAnswer(BaseModel):
    id: int
    state: JobState
    message: str
    name: str = Field(description="Of the run.")
    files: list[str]
    lines: int = Field(description="Lines of the upload.")
    read: int = Field(description="Lines that have been read so far, without empty ones.")
    accepted: int
    rejected: int
    written: int = Field(description="Trajectories that have been stored so far.")
    run: str | None = Field(description="The ID of the run; null until the import has finished.")
    seconds: float = Field(description="Of work.")
    created_at: str
    ended_at: str | None
    address: str = Field(description="Where to retrieve it.")


class ImportDetail(ImportAnswer):
    rejected_lines: list[RejectedRollout] = Field(description=f"The first {REJECTED_LISTED}.")


class ImportPage(BaseModel):
    imports: list[ImportAnswer]
    next: str | None = Field(description="The cursor of the next page; null if this is the last.")


@resource.post(
    "imports/",
    route="imports",
    scope=Scope.INGEST,
    status=202,
    idempotent=True,
    most_bytes=MOST_BYTES,
    body_media="application/x-ndjson",
    problems={409: "You have reached a limit.", 507: "The site's disk is full."},
)
def import_rollouts(call: Call, query: NewImport) -> Annotated[dict[str, Any], ImportDetail]:
    """Upload rollouts of RAGEN or verl, one JSON object on each line, which a worker makes a run of.

    The answer has the address to follow it at. A wrong line is rejected with the reason, and the others are stored.
    With the header `Idempotency-Key`, an upload that is sent again within 24 hours gives the same import.
    """
    body = unpacked_body(call.request, MOST_BYTES, MOST_UNPACKED)
    if not body.strip():
        raise Problem(400, "The body is empty", "Send JSON Lines: one rollout on each line.")
    project = project_for_new(call.user, query.project)
    upload = Upload(name=query.file, parts=[body])
    try:
        made = uploads.accept([upload], call.user, project=project, name=query.name, split=query.split)
    except NoRoom as refused:
        raise Problem(507, "The disk is full", str(refused)) from None
    except Refused as refused:
        raise Problem(409, "The upload is not accepted", str(refused)) from None
    return _detail(made)


@resource.get("imports/", route="imports")
def list_imports(call: Call, query: ImportFilter) -> Annotated[dict[str, Any], ImportPage]:
    """List imports of rollouts, most recent first."""
    rows = readable(RolloutImport.objects.all())
    if query.state is not None:
        rows = rows.filter(state=query.state)
    found, following = page(rows, query, after=query.after, limit=query.limit)
    return {"imports": [_answer(one) for one in found], "next": following}


@resource.get("imports/{import_id}/", route="import")
def get_import(call: Call, import_id: int) -> Annotated[dict[str, Any], ImportDetail]:
    """Retrieve an import with its progress and the lines that were rejected."""
    return _detail(_at(import_id, Role.VIEWER))


@resource.post("imports/{import_id}/stop", route="stop_import", scope=Scope.INGEST)
def stop_import(call: Call, import_id: int) -> Annotated[dict[str, Any], ImportDetail]:
    """Stop an import; nothing of it is kept. One that is over stays as it is."""
    found = _at(import_id, Role.EDITOR)
    uploads.stop(found, call.user)
    found.refresh_from_db()
    return _detail(found)


def _at(pk: int, needs: Role) -> RolloutImport:
    found = readable(RolloutImport.objects.filter(pk=pk)).first()
    if found is None:
        raise Problem(404, f"There is no import {pk}", "List the imports with GET /api/v1/imports/.")
    require(found, needs)
    return found


def _answer(found: RolloutImport) -> dict[str, Any]:
    same = ("state", "message", "name", "files", "lines", "read", "accepted", "rejected", "written", "seconds")
    return {
        "id": found.pk,
        **{name: getattr(found, name) for name in same},
        "run": found.run_id,
        "created_at": found.created_at.isoformat(),
        "ended_at": found.ended_at.isoformat() if found.ended_at else None,
        "address": f"/api/v1/imports/{found.pk}/",
    }


def _detail(found: RolloutImport) -> dict[str, Any]:
    listed = found.errors[:REJECTED_LISTED]
    return {
        **_answer(found),
        "rejected_lines": [{"file": name, "line": number, "reason": reason} for name, number, reason in listed],
    }
