"""What is wrong with a configuration, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from engine.section import section_class, variants_of

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
            field, reason = f"{field}.{_discriminator(item)}".removeprefix("."), _wrong_type(item)
        head, separator, rest = reason.partition(": ")
        if separator and " " not in head:
            field, reason = f"{field}.{head}" if field else head, rest
        found.append((field, reason))
    return found


def field_path(location: Sequence[int | str], model: type[BaseModel]) -> list[str]:
    """pydantic's location without the types of variants, which it puts between the names of fields."""
    path: list[str] = []
    inside: FieldInfo | None = FieldInfo.from_annotation(model)
    for part in location:
        variants = variants_of(inside) if inside is not None else {}
        if variants:
            chosen = variants.get(str(part))
            inside = FieldInfo.from_annotation(chosen) if chosen is not None else None
            continue
        path.append(str(part))
        inside = _part_of(inside, part) if inside is not None else None
    return path


def _part_of(info: FieldInfo, part: int | str) -> FieldInfo | None:
    """A field of a section, or an item of a list of them."""
    section = section_class(info)
    if section is not None:
        return section.model_fields.get(str(part))
    items = get_args(info.annotation) if get_origin(info.annotation) in (list, tuple) else ()
    return FieldInfo.from_annotation(items[0]) if items and isinstance(part, int) else None


def _discriminator(item: Any) -> str:
    return str(item["ctx"]["discriminator"]).strip("'")


def _wrong_type(item: Any) -> str:
    context = item.get("ctx", {})
    allowed = context.get("expected_tags", "").replace("'", "")
    if item["type"] == "union_tag_not_found":
        return "missing. The other fields depend on it"
    return f"{context.get('tag', '')[:60]!r} is not one of them. Use one of {allowed}"
