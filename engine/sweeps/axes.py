"""The axes of a sweep: settings that take several values, a value out of a range, or several settings at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from engine.section import Section

Value = bool | int | float | str | None  # of one field; None for an optional field without a value
DottedField = Annotated[str, Field(min_length=1, max_length=120, pattern=r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$")]

MOST_LEVELS = 50
DIGITS = 4  # significant, of a value drawn from a range
# labels change nothing, and seeds are an axis of their own
NOT_SWEPT = {
    "seed": "Training seeds are an axis of their own: give them under seeds.",
    "preset": "It is a label and changes nothing.",
    "description": "It is a label and changes nothing.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One value of an axis: how it is shown, and what it sets."""

    label: str
    changes: Mapping[str, Value]


def label_of(value: Value) -> str:
    """As configuration files have it: 2e-4 as 0.0002, a box as true or false."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _allowed(field: str) -> str:
    if field in NOT_SWEPT:
        raise ValueError(f"{field} cannot be swept. {NOT_SWEPT[field]}")
    return field


class ValuesAxis(Section):
    """Each of some values of one field."""

    type: Literal["values"] = "values"
    field: DottedField
    values: list[Value] = Field(min_length=1, max_length=MOST_LEVELS)

    @field_validator("field")
    @classmethod
    def _check_field(cls, field: str) -> str:
        return _allowed(field)

    @field_validator("values")
    @classmethod
    def _check_values(cls, values: list[Value]) -> list[Value]:
        _check_distinct(values)
        return values

    @property
    def name(self) -> str:
        return self.field

    @property
    def fields(self) -> set[str]:
        return {self.field}

    def levels(self) -> list[Level]:
        return [Level(label=label_of(value), changes={self.field: value}) for value in self.values]


class RangeAxis(Section):
    """Values of one field from `low` to `high`: a number of evenly spaced ones in a grid, else drawn ones."""

    type: Literal["range"]
    field: DottedField
    low: float = Field(allow_inf_nan=False)
    high: float = Field(allow_inf_nan=False)
    scale: Literal["linear", "log"] = "linear"
    count: int = Field(5, ge=2, le=MOST_LEVELS, description="Evenly spaced values in a grid.")

    @field_validator("field")
    @classmethod
    def _check_field(cls, field: str) -> str:
        return _allowed(field)

    @model_validator(mode="after")
    def _check_ends(self) -> RangeAxis:
        if self.low >= self.high:
            raise ValueError(f"high: must be more than the low end {self.low:g}, got {self.high:g}")
        if self.scale == "log" and self.low <= 0:
            raise ValueError(f"low: must be more than 0 on a logarithmic scale, got {self.low:g}. Use a linear one.")
        return self

    @property
    def name(self) -> str:
        return self.field

    @property
    def fields(self) -> set[str]:
        return {self.field}

    def at(self, share: float, *, whole: bool) -> float | int:
        """The value at a share of the way from `low` (0) to `high` (1), to four significant digits."""
        if self.scale == "log":
            value = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + share * (self.high - self.low)
        return self.rounded(value, whole=whole)

    def rounded(self, value: float, *, whole: bool) -> float | int:
        return round(value) if whole else float(f"{value:.{DIGITS}g}")

    def spaced(self, *, whole: bool) -> ValuesAxis:
        """As `count` values; fewer where whole numbers coincide."""
        found = [self.at(index / (self.count - 1), whole=whole) for index in range(self.count)]
        return ValuesAxis(field=self.field, values=[*dict.fromkeys(found)])


class Setting(Section):
    """What one level of a `SettingsAxis` sets."""

    label: str = Field(min_length=1, max_length=60)
    changes: dict[DottedField, Value] = Field(max_length=20)

    @field_validator("changes")
    @classmethod
    def _check_fields(cls, changes: dict[str, Value]) -> dict[str, Value]:
        return {_allowed(field): value for field, value in changes.items()}


class SettingsAxis(Section):
    """Levels that set several fields together, such as a filter with its threshold. One without changes is the base."""

    type: Literal["settings"]
    name: str = Field(min_length=1, max_length=60)
    settings: list[Setting] = Field(min_length=1, max_length=MOST_LEVELS)

    @field_validator("settings")
    @classmethod
    def _check_labels(cls, settings: list[Setting]) -> list[Setting]:
        _check_distinct([one.label for one in settings])
        return settings

    @property
    def fields(self) -> set[str]:
        return {field for one in self.settings for field in one.changes}

    def levels(self) -> list[Level]:
        return [Level(label=one.label, changes=one.changes) for one in self.settings]


Axis = Annotated[ValuesAxis | RangeAxis | SettingsAxis, Field(discriminator="type")]


def _check_distinct(values: Sequence[Value]) -> None:
    labels = [label_of(value) for value in values]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice[:60]!r} is listed twice. Give each once.")
