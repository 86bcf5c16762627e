"""What may be kept as a layout, and how a page is told of one."""

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
MOST_LAYOUTS = 100  # of one user


def _storable(name: str) -> str:
    if not can_be_a_name(name):
        raise ValueError("a name of a metric holds no NUL and no half of a surrogate pair")
    return name


MetricName = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(_storable)]
LayoutName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80), AfterValidator(_storable)
]


class BadLayout(Exception):
    """What is wrong with what was sent, in words for its sender."""


class LayoutForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: LayoutName
    charts: list[Annotated[list[MetricName], Field(min_length=1, max_length=MOST_OVERLAID)]] = Field(
        min_length=1, max_length=MOST_CHARTS
    )
    log: list[bool | None] = Field(default_factory=list, max_length=MOST_CHARTS)


def read_form(body: bytes) -> LayoutForm:
    """From JSON; `BadLayout` for anything else."""
    if len(body) > LONGEST_BODY:
        raise BadLayout(f"A layout has at most {LONGEST_BODY} bytes.")
    try:
        return LayoutForm.model_validate(json.loads(body))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadLayout(f"{place}: {first['msg']}. A layout has a name and 1 to {MOST_CHARTS} charts.") from error
    except (ValueError, RecursionError) as error:
        raise BadLayout('This is no JSON. Send {"name": "…", "charts": [["area/metric"]]}.') from error


def as_json(layout: PanelLayout, user: AbstractBaseUser | Any) -> dict[str, Any]:
    mine = layout.owner_id == user.pk
    looks = {"charts": layout.charts, "log": layout.log}
    return {"id": layout.pk, "name": layout.name, **looks, "mine": mine, "owner": str(layout.owner)}
