"""Reports: text with charts, tables and trajectories of runs."""

from __future__ import annotations

from typing import Annotated, Any

from django.contrib.auth.models import User
from django.urls import reverse
from pydantic import BaseModel, ConfigDict, Field

from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.problems import Problem
from webapp.projects.access import readable
from webapp.reports import services
from webapp.reports.models import Report

resource = Resource(tag="Reports")

NOT_YOURS = {403: "Only its owner and admins of its project may."}


class ReportFilter(Fields):
    limit: int = Field(default=50, ge=1, le=500, description="The most reports on a page.")
    before: int | None = Field(
        default=None,
        ge=1,
        le=2**63 - 1,
        description="Only reports with a smaller ID: the last one of the previous page.",
    )


class ReportSummary(BaseModel):
    id: int
    title: str
    owner: str | None
    version: int = Field(description="Counts changes of title and text.")
    created_at: str
    updated_at: str
    shared: bool = Field(description="Whether anyone with its link can read it.")


class ReportAnswer(ReportSummary):
    text: str = Field(description="Markdown; fenced code with `chart` and an address of a comparison is a chart.")
    link: str | None = Field(description="The secret link, for the owner only; null unless it is shared.")


class ReportPage(BaseModel):
    reports: list[ReportSummary] = Field(description="Newest first.")
    more: bool


class ReportText(Fields):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"title": "Learning rates", "text": "```chart\n/compare/?q=lake&group=seeds\n```"}]
        },
    )

    title: str
    text: str = Field(default="", description="Markdown.")


class ReportChange(ReportText):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"title": "Learning rates", "text": "Done.", "version": 1}]}
    )

    version: int = Field(
        description="The version that you read. If the report has a newer one by now, the status is 409."
    )


class Sharing(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"shared": True}]})

    shared: bool = Field(
        strict=True, description="Whether there is a link. After a link is revoked, a new one has another address."
    )


class Deleted(BaseModel):
    deleted: int = Field(description="The ID that the report had.")


@resource.get("reports/", route="reports")
def list_reports(call: Call, query: ReportFilter) -> Annotated[dict[str, Any], ReportPage]:
    """List reports, the newest first."""
    found = readable(Report.objects.select_related("owner").defer("text")).order_by("-pk")
    if query.before is not None:
        found = found.filter(pk__lt=query.before)
    rows = list(found[: query.limit + 1])
    return {"reports": [_summary(row) for row in rows[: query.limit]], "more": len(rows) > query.limit}


@resource.get("reports/{report_id}/", route="report")
def get_report(call: Call, report: Report) -> Annotated[dict[str, Any], ReportAnswer]:
    """Retrieve a report with its text."""
    return _answer(call, report)


@resource.post("reports/", route="reports", scope=Scope.LAUNCH, status=201, idempotent=True, most_bytes=1024 * 1024)
def create_report(call: Call, body: ReportText) -> Annotated[dict[str, Any], ReportAnswer]:
    """Write a report."""
    try:
        return _answer(call, services.create(call.user, title=body.title, text=body.text))
    except services.Refused as refusal:
        raise Problem(422, str(refusal), "Nothing was written.") from None


@resource.post(
    "reports/{report_id}/",
    route="report",
    scope=Scope.LAUNCH,
    most_bytes=1024 * 1024,
    problems={**NOT_YOURS, 409: "The report was changed since it was read."},
)
def change_report(call: Call, report: Report, body: ReportChange) -> Annotated[dict[str, Any], ReportAnswer]:
    """Replace the title and the text of a report of your own."""
    try:
        changed = services.change(report, call.user, title=body.title, text=body.text, version=body.version)
    except services.Refused as refusal:
        raise _problem(refusal) from None
    return _answer(call, changed)


@resource.post("reports/{report_id}/share", route="share_report", scope=Scope.LAUNCH, problems=NOT_YOURS)
def share_report(call: Call, report: Report, body: Sharing) -> Annotated[dict[str, Any], ReportAnswer]:
    """Share a report of your own by a secret link, or revoke the link."""
    try:
        if body.shared:
            services.share(report, call.user)
        else:
            services.revoke(report, call.user)
    except services.Refused as refusal:
        raise _problem(refusal) from None
    return _answer(call, report)


@resource.post("reports/{report_id}/delete", route="delete_report", scope=Scope.LAUNCH, problems=NOT_YOURS)
def delete_report(call: Call, report: Report) -> Deleted:
    """Delete a report of your own, and its link with it. What it shows stays: runs, evaluations and trajectories."""
    deleted = Deleted(deleted=report.pk)
    try:
        services.delete(report, call.user)
    except services.Refused as refusal:
        raise _problem(refusal) from None
    return deleted


def _problem(refusal: services.Refused) -> Problem:
    status = 409 if isinstance(refusal, services.Outdated) else 422
    return Problem(status, str(refusal), "Nothing was changed.")


def _summary(report: Report) -> dict[str, Any]:
    owner: User | None = report.owner
    return {
        "id": report.pk,
        "title": report.title,
        "owner": owner.get_username() if owner else None,
        "version": report.version,
        "created_at": report.created_at.isoformat(),
        "updated_at": report.updated_at.isoformat(),
        "shared": report.share_key is not None,
    }


def _answer(call: Call, report: Report) -> dict[str, Any]:
    shown = report.share_key is not None and report.is_of(call.user)
    link = call.request.build_absolute_uri(reverse("reports:shared", args=[report.share_key])) if shown else None
    return {**_summary(report), "text": report.text, "link": link}
