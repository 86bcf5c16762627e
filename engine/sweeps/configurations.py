"""The configuration of each point: the base with the point's changes, checked by the rules that every run is."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from engine.config import RunConfig, problems_by_field, set_field
from engine.config.reading import KIND
from engine.errors import ConfigError
from engine.section import TYPE
from engine.sweeps.points import Point

MOST_SHOWN = 60  # characters of a value in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A point that cannot run. `axis` and `value` are those that the reason is about, empty if it is about several."""

    point: Point
    field: str
    reason: str
    axis: str = ""
    value: str = ""

    @property
    def text(self) -> str:
        if self.axis and self.axis == self.field:
            return f"{self.axis} = {self.value[:MOST_SHOWN]}: {self.reason}"
        about = f"{self.axis} = {self.value[:MOST_SHOWN]}" if self.axis else self.point.text
        return f"{about}: {self.field}: {self.reason}" if self.field else f"{about}: {self.reason}"


@dataclass(slots=True, kw_only=True)
class Configurations:
    """Of the points that can run, without those whose configuration another has already."""

    found: list[tuple[Point, RunConfig]] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    duplicates: list[tuple[Point, Point]] = field(default_factory=list)  # a point, and the earlier one that equals it

    @property
    def problems(self) -> list[str]:
        """Each once: a value that is wrong is wrong in every combination."""
        return list(dict.fromkeys(refusal.text for refusal in self.refusals))


def configurations_of(base: Mapping[str, Any], points: Iterable[Point]) -> Configurations:
    made = Configurations()
    seen: dict[str, Point] = {}
    for point in points:
        try:
            config = RunConfig.model_validate(with_changes(base, point))
        except ConfigError as error:
            made.refusals.append(refusal(point, "", str(error)))
            continue
        except ValidationError as error:
            made.refusals += [refusal(point, name, why) for name, why in problems_by_field(error, RunConfig)]
            continue
        text = config.model_dump_json()
        if text in seen:
            made.duplicates.append((point, seen[text]))
            continue
        seen[text] = point
        made.found.append((point, config))
    return made


def with_changes(base: Mapping[str, Any], point: Point) -> dict[str, Any]:
    """Types of sections and kinds of environments are set before their fields, which they would clear."""
    data = copy.deepcopy(dict(base))
    for name in sorted(point.changes, key=lambda name: name.rpartition(".")[2] not in (TYPE, KIND)):
        set_field(data, name, point.changes[name])
    return data


def refusal(point: Point, name: str, reason: str) -> Refusal:
    """Blames the axis that sets the field `name` or what contains it, or the only one that sets something inside it."""
    parts = name.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    inside = {axis for field, axis in point.axes.items() if field.startswith(f"{name}.")}
    alone = inside.pop() if len(inside) == 1 else ""
    axis = next((point.axes[one] for one in names if one in point.axes), alone)
    return Refusal(point=point, field=name, reason=reason, axis=axis, value=point.labels.get(axis, ""))
