"""Errors of the API: what was given and what is allowed in `error`, what to do in `remedy`, by field in `errors`."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import JsonResponse
from pydantic import BaseModel, Field, ValidationError

from engine.config import problems_by_field

LONGEST_FIELD = 60


class ProblemAnswer(BaseModel):
    """Why a request failed, and how to fix it."""

    error: str = Field(description="What was given and what is allowed.")
    remedy: str = Field(description="What to do.")
    errors: dict[str, str] | None = Field(
        default=None, description="The reasons by field of the body, if fields are the reason."
    )


class Problem(Exception):
    """Raised anywhere in a request; the dispatcher answers with it."""

    def __init__(
        self,
        status: int,
        error: str,
        remedy: str,
        *,
        errors: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.remedy = remedy
        self.errors = errors
        self.headers = headers or {}

    def answer(self) -> JsonResponse:
        body: dict[str, object] = {"error": self.error, "remedy": self.remedy}
        if self.errors is not None:
            body["errors"] = dict(self.errors)
        return JsonResponse(body, status=self.status, headers=self.headers)


def invalid_fields(
    errors: Mapping[str, str], remedy: str = "Fix the fields in `errors`. Nothing was changed."
) -> Problem:
    shown = {name[:LONGEST_FIELD]: reason for name, reason in errors.items()}
    sentences = (f"{name}: {reason}".removeprefix(": ") for name, reason in shown.items())
    return Problem(422, " ".join(sentences), remedy, errors=shown)


def reasons(error: ValidationError, model: type[BaseModel]) -> dict[str, str]:
    """By dotted field. A field that does not exist is answered with those that do."""
    unknown = {".".join(map(str, one["loc"])) for one in error.errors() if one["type"] == "extra_forbidden"}
    known = ", ".join(field.alias or name for name, field in model.model_fields.items()) or "none"
    found = dict(problems_by_field(error, model))
    return {
        name: f"There is no such field. Allowed: {known}." if name in unknown else reason
        for name, reason in found.items()
    }
