"""What is wrong with a configuration, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from engine.section import TYPE, section_class, variants_of

PLAIN = {
    "extra_forbidden": "unknown field. Remove it or correct its spelling",
    "missing": "missing. Give it a value",
}


def problems_by_field(error: ValidationError, model: type[BaseModel]) -> list[tuple[str, str]]:
    """`(dotted field, reason)` for each problem of data that `model` refused.

    Rules between fields begin with the field that they concern.
    """
    found = []
    for item in error.errors():
        field = ".".join(field_path(item["loc"], model))
        reason = PLAIN.get(item["type"], item["msg"].removeprefix("Value error, "))
        if item["type"] in ("union_tag_invalid", "union_tag_not_found"):
            field, reason = f"{field}.{TYPE}".removeprefix("."), _wrong_type(item)
        head, separator, rest = reason.partition(": ")
        if separator and " " not in head:
            field, reason = f"{field}.{head}" if field else head, rest
        found.append((field, reason))
    return found


def field_path(location: Sequence[int | str], model: type[BaseModel]) -> list[str]:
    """pydantic's location without the types of variants, which it puts between the names of fields."""
    path: list[str] = []
    inside: type[BaseModel] | None = model
    parts = iter(location)
    for part in parts:
        path.append(str(part))
        info = inside.model_fields.get(str(part)) if inside is not None else None
        variants = variants_of(info) if info is not None else {}
        inside = variants.get(str(next(parts, ""))) if variants else section_class(info) if info is not None else None
    return path


def _wrong_type(item: Any) -> str:
    context = item.get("ctx", {})
    allowed = context.get("expected_tags", "").replace("'", "")
    if item["type"] == "union_tag_not_found":
        return "missing. The other fields depend on it"
    return f"{context.get('tag', '')[:60]!r} is not one of them. Use one of {allowed}"
