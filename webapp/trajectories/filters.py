"""The list's filters: read from the URL, applied to rows, written back into links."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet

from webapp.trajectories.models import Trajectory

LARGEST_STEP = 2**31 - 1
KEPT = {"kept": True, "dropped": False, "undecided": None}
SPLITS = ("train", "validation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What the user asked to see; an empty string asks for everything. `problems` names values that were ignored."""

    values: dict[str, str]
    conditions: dict[str, Any]
    problems: list[str]

    def apply(self, rows: QuerySet[Trajectory]) -> QuerySet[Trajectory]:
        return rows.filter(**self.conditions)

    @property
    def active(self) -> bool:
        return bool(self.conditions)

    def query(self, **changes: str) -> str:
        """The query string of these filters with `changes`; empty values are left out."""
        return urlencode({key: value for key, value in {**self.values, **changes}.items() if value})


NAMES = ("step", "split", "environment", "success", "low", "high", "kept", "parse", "stop", "group")


def read_filters(query: Mapping[str, str]) -> Filters:
    values = {name: query.get(name, "").strip() for name in NAMES}
    conditions: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in values.items():
        if not value:
            continue
        try:
            key, wanted = _condition(name, value)
        except ValueError as error:
            problems.append(str(error))
        else:
            conditions[key] = wanted
    kept = {name: value for name, value in values.items() if value}
    return Filters(values=kept, conditions=conditions, problems=problems)


def _condition(name: str, value: str) -> tuple[str, Any]:
    match name:
        case "step" | "group":
            return name, _whole(name, value)
        case "low":
            return "episode_return__gte", _number("The lowest return", value)
        case "high":
            return "episode_return__lte", _number("The highest return", value)
        case "split":
            return "split", _one_of("The split", value, SPLITS)
        case "success":
            return "success", _one_of("Solved", value, ("yes", "no")) == "yes"
        case "parse":
            failed = _one_of("Parse", value, ("failed", "ok")) == "failed"
            return ("parse_failures__gt", 0) if failed else ("parse_failures", 0)
        case "kept":
            wanted = KEPT[_one_of("The filter", value, tuple(KEPT))]
            return ("kept__isnull", True) if wanted is None else ("kept", wanted)
    return name, value


def _whole(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value) <= LARGEST_STEP):
        raise ValueError(f"The {name} {value!r} is not a whole number from 0. It was left out.")
    return int(value)


def _number(what: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{what} {value!r} is not a number. It was left out.")
    return number


def _one_of(what: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{what} cannot be {value!r}. Choose one of: {', '.join(allowed)}.")
    return value
