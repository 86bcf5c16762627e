"""The axes of a sweep as rows of a form, and the texts of their values.

Values are separated by commas or lines. Settings have a line each: `label: field = value; field = value`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from engine.sweeps.axes import Axis, RangeAxis, SettingsAxis, Value, ValuesAxis, label_of

PARTS = ("field", "type", "values", "low", "high", "scale", "count")
MOST_ROWS = 12


@dataclass(slots=True, kw_only=True)
class AxisRow:
    """Texts as the form has them. `field` is the name of an axis of settings."""

    field: str = ""
    type: str = "values"
    values: str = ""
    low: str = ""
    high: str = ""
    scale: str = "linear"
    count: str = "5"

    @property
    def is_empty(self) -> bool:
        return not (self.field.strip() or self.values.strip() or self.low.strip() or self.high.strip())

    def data(self) -> dict[str, Any]:
        """For `SweepPlan`, which says what is wrong with it; `ValueError` for settings that cannot be read."""
        name = self.field.strip()
        if self.type == "range":
            ends = {"low": self.low.strip(), "high": self.high.strip()}
            return {"type": "range", "field": name, **ends, "scale": self.scale, "count": self.count.strip()}
        if self.type == "settings":
            return {"type": "settings", "name": name, "settings": settings_of(self.values)}
        return {"type": "values", "field": name, "values": values_of(self.values)}


def posted_rows(data: QueryDict) -> list[AxisRow]:
    """The rows that are not empty."""
    columns = {part: data.getlist(f"axis-{part}") for part in PARTS}
    count = min(MOST_ROWS, len(columns["field"]))
    rows = [
        AxisRow(**{part: found[index] for part, found in columns.items() if index < len(found)})
        for index in range(count)
    ]
    return [row for row in rows if not row.is_empty]


def row_of(axis: Axis) -> AxisRow:
    if isinstance(axis, RangeAxis):
        return AxisRow(
            field=axis.field, type="range", low=f"{axis.low:g}", high=f"{axis.high:g}", scale=axis.scale,
            count=str(axis.count),
        )  # fmt: skip
    if isinstance(axis, SettingsAxis):
        lines = (f"{one.label}: {_changes_text(one.changes)}" for one in axis.settings)
        return AxisRow(field=axis.name, type="settings", values="\n".join(lines))
    return AxisRow(field=axis.field, values=values_text(axis))


def values_text(axis: ValuesAxis) -> str:
    return ", ".join(_text(value) for value in axis.values)


def values_of(text: str) -> list[Value]:
    return [value_of(part) for line in text.splitlines() for part in line.split(",") if part.strip()]


def value_of(text: str) -> Value:
    """Numbers, true, false and null as JSON has them; anything else is text."""
    try:
        value = json.loads(text.strip())
    except (ValueError, RecursionError):
        return text.strip()
    is_plain = value is None or isinstance(value, bool | int | float | str)
    return value if is_plain else text.strip()


def settings_of(text: str) -> list[dict[str, Any]]:
    return [_setting(line.strip()) for line in text.splitlines() if line.strip()]


def _setting(line: str) -> dict[str, Any]:
    label, colon, rest = line.partition(":")
    if not colon:
        raise ValueError(f"{line[:60]!r} has no label. Write label: field = value; field = value.")
    changes: dict[str, Value] = {}
    for part in filter(None, (one.strip() for one in rest.split(";"))):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part[:60]!r} sets nothing. Write field = value.")
        changes[name.strip()] = value_of(value)
    return {"label": label.strip(), "changes": changes}


def _changes_text(changes: Mapping[str, Value]) -> str:
    return "; ".join(f"{name} = {_text(value)}" for name, value in changes.items())


def _text(value: Value) -> str:
    return "null" if value is None else label_of(value)


def with_more(axis: Axis, text: str) -> Axis:
    """The axis with further values, or settings, at its end; `ValueError` where they cannot be read."""
    if isinstance(axis, SettingsAxis):
        data = axis.model_dump()
        return SettingsAxis.model_validate({**data, "settings": [*data["settings"], *settings_of(text)]})
    if isinstance(axis, ValuesAxis):
        return ValuesAxis.model_validate({**axis.model_dump(), "values": [*axis.values, *values_of(text)]})
    return axis


def rows_of(axes: Sequence[Axis]) -> list[AxisRow]:
    return [row_of(axis) for axis in axes]
