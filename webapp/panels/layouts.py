"""Validation of posted layouts, and their JSON."""

from __future__ import annotations

import json
from typing import Annotated, Any

from django.contrib.auth.models import AbstractBaseUser
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from webapp.live.reading import can_be_a_name
from webapp.panels.models import PanelLayout

MOST_CHARTS = 60
MOST_OVERLAID = 8
LONGEST_BODY = 64 * 1024
MOST_LAYOUTS = 100  # per user


def _storable(name: str) -> str:
    if not can_be_a_name(name):
        raise ValueError("names of metrics must not contain NUL or lone surrogates")
    return name


MetricName = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(_storable)]
LayoutName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80), AfterValidator(_storable)
]


class BadLayout(Exception):
    """The message explains the problem to the sender."""


class LayoutForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: LayoutName
    charts: list[Annotated[list[MetricName], Field(min_length=1, max_length=MOST_OVERLAID)]] = Field(
        min_length=1, max_length=MOST_CHARTS
    )
    log: list[bool | None] = Field(default_factory=list, max_length=MOST_CHARTS)


def read_form(body: bytes) -> LayoutForm:
    """Parses JSON; raises `BadLayout` for anything else."""
    if len(body) > LONGEST_BODY:
        raise BadLayout(f"A layout must not exceed {LONGEST_BODY} bytes.")
    try:
        return LayoutForm.model_validate(json.loads(body))
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(str(part) for part in first["loc"])
        raise BadLayout(f"{location}: {first['msg']}. A layout needs a name and 1 to {MOST_CHARTS} charts.") from error
    except (ValueError, RecursionError) as error:
        raise BadLayout('The body is not JSON. Send {"name": "…", "charts": [["area/metric"]]}.') from error


def as_json(layout: PanelLayout, user: AbstractBaseUser | Any) -> dict[str, Any]:
    mine = layout.owner_id == user.pk
    content = {"charts": layout.charts, "log": layout.log}
    return {"id": layout.pk, "name": layout.name, **content, "mine": mine, "owner": str(layout.owner)}
