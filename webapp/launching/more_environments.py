"""The environments of a run after its first, as rows of its form, each with a name and a number of groups."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django.http import QueryDict

from webapp.environments.models import EnvironmentVersion
from webapp.projects.access import readable
from webapp.runs.models import Run
from webapp.whole_numbers import whole_number

MOST = 15  # in addition to the first
KEPT = "kept-"  # followed by the index of an environment of the cloned run


@dataclass(slots=True, kw_only=True)
class Row:
    """Form values as text. `choice` is the key of a version, or an environment of the cloned run. An empty `tag` means
    the environment's own name; empty `groups` mean an even share."""

    choice: str
    tag: str = ""
    groups: str = ""
    error: str = ""


def posted(data: QueryDict) -> list[Row]:
    """The rows of a posted form, or of a URL that fills in the form."""
    columns = [data.getlist(f"more-{name}") for name in ("environment", "tag", "groups")]
    return [Row(choice=choice, tag=tag, groups=groups) for choice, tag, groups in zip_longest(*columns, fillvalue="")][
        :MOST
    ]


def of_run(source: Run) -> list[Row]:
    """The rows for the environments of a cloned run."""
    further = source.config.get("environments", [])[1:]
    return [
        Row(choice=f"{KEPT}{index}", tag=one.get("tag", ""), groups=groups_of(one))
        for index, one in enumerate(further, 1)
    ]


def groups_of(environment: dict[str, Any]) -> str:
    return str(environment.get("groups") or "")


def kept_choices(source: Run | None) -> list[tuple[str, str]]:
    """Options for the environments of the cloned run: value and label."""
    return [(row.choice, f"{row.tag}, as in {source.name}") for row in of_run(source)] if source else []


def configs(rows: list[Row], source: Run | None) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The configuration of each row, with texts left for pydantic to parse; and errors by `environments.<index>`."""
    found: list[dict[str, Any]] = []
    errors: dict[str, str] = {}
    for index, row in enumerate(rows, 1):
        config = _config(row.choice, source)
        if config is None:
            errors[f"environments.{index}"] = "Select an environment, or remove this row."
            continue
        own_name = {"tag": row.tag.strip()} if row.tag.strip() else {}
        found.append({**config, **own_name, "groups": row.groups.strip() or "0"})
    return found, errors


def _config(choice: str, source: Run | None) -> dict[str, Any] | None:
    if (key := whole_number(choice)) is not None:
        version = readable(EnvironmentVersion.objects.filter(pk=key)).first()
        return dict(version.config) if version else None
    index = whole_number(choice.removeprefix(KEPT))
    environments = source.config.get("environments", []) if source else []
    return dict(environments[index]) if index is not None and index < len(environments) else None
