"""The environments of a run beyond its first, as its form has them: a row each, with a name and groups of their own."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django.http import QueryDict

from webapp.environments.models import EnvironmentVersion
from webapp.runs.models import Run
from webapp.whole_numbers import whole_number

MOST = 15  # beside the first
KEPT = "kept-"  # an environment that the run has which is cloned, by its place there


@dataclass(slots=True, kw_only=True)
class Row:
    """As text; `choice` is a version's number in the database or names what a cloned run has. An empty `tag` is the
    environment's own; empty `groups` are an even share."""

    choice: str
    tag: str = ""
    groups: str = ""
    error: str = ""


def posted(data: QueryDict) -> list[Row]:
    """The rows of a form, or of an address that fills one."""
    columns = [data.getlist(f"more-{name}") for name in ("environment", "tag", "groups")]
    return [Row(choice=choice, tag=tag, groups=groups) for choice, tag, groups in zip_longest(*columns, fillvalue="")][
        :MOST
    ]


def of_run(source: Run) -> list[Row]:
    """Those of a run that is cloned, as they are there."""
    further = source.config.get("environments", [])[1:]
    return [
        Row(choice=f"{KEPT}{place}", tag=one.get("tag", ""), groups=groups_of(one))
        for place, one in enumerate(further, 1)
    ]


def groups_of(environment: dict[str, Any]) -> str:
    return str(environment.get("groups") or "")


def kept_choices(source: Run | None) -> list[tuple[str, str]]:
    """What a clone's rows may choose beside versions: value and words."""
    return [(row.choice, f"{row.tag}, as in {source.name}") for row in of_run(source)] if source else []


def configs(rows: list[Row], source: Run | None) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """What `RunConfig` has of each, texts left for pydantic to read; and errors by `environments.<place>`."""
    found: list[dict[str, Any]] = []
    errors: dict[str, str] = {}
    for place, row in enumerate(rows, 1):
        config = _config(row.choice, source)
        if config is None:
            errors[f"environments.{place}"] = "Choose an environment, or remove this one."
            continue
        own_name = {"tag": row.tag.strip()} if row.tag.strip() else {}
        found.append({**config, **own_name, "groups": row.groups.strip() or "0"})
    return found, errors


def _config(choice: str, source: Run | None) -> dict[str, Any] | None:
    if (key := whole_number(choice)) is not None:
        version = EnvironmentVersion.objects.filter(pk=key).first()
        return dict(version.config) if version else None
    place = whole_number(choice.removeprefix(KEPT))
    environments = source.config.get("environments", []) if source else []
    return dict(environments[place]) if place is not None and place < len(environments) else None
