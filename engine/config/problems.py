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
# by pydantic's type of error, with what its context has
ALLOWED = {
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "multiple_of": "must be a multiple of {multiple_of}",
    "literal_error": "must be one of {expected}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "string_too_short": "must have {min_length} characters or more",
    "string_too_long": "must have {max_length} characters or fewer",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a section with fields",
    "model_type": "must be a section with fields",
}
COUNTED = {
    "too_short": "must have {min_length} or more entries, got {actual_length}",
    "too_long": "must have {max_length} entries or fewer, got {actual_length}",
}
LONGEST_SHOWN = 60  # characters of what was given


def problems_by_field(error: ValidationError, model: type[BaseModel]) -> list[tuple[str, str]]:
    """`(dotted field, reason)` for each problem of data that `model` refused.

    Rules between fields begin with the field that they concern.
    """
    found = []
    for item in error.errors():
        field = ".".join(field_path(item["loc"], model))
        reason = _reason(item)
        if item["type"] in ("union_tag_invalid", "union_tag_not_found"):
            field, reason = f"{field}.{_discriminator(item)}".removeprefix("."), _wrong_type(item)
        head, separator, rest = reason.partition(": ")
        if separator and " " not in head:
            field, reason = f"{field}.{head}" if field else head, rest
        found.append((field, reason))
    return found


def _reason(item: Any) -> str:
    """What is allowed and what was given; rules of our own already say both."""
    if item["type"] in PLAIN:
        return PLAIN[item["type"]]
    if item["type"] in COUNTED:
        return COUNTED[item["type"]].format(**item["ctx"])
    if item["type"] not in ALLOWED:
        return str(item["msg"]).removeprefix("Value error, ")
    if item["input"] in ("", None):
        return PLAIN["missing"]
    given = repr(item["input"])
    shown = given if len(given) <= LONGEST_SHOWN else f"{given[:LONGEST_SHOWN]}..."
    numbers = {name: f"{one:g}" if isinstance(one, float) else one for name, one in item.get("ctx", {}).items()}
    return f"{ALLOWED[item['type']].format(**numbers)}, got {shown}"


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
    return f"{context.get('tag', '')[:60]!r} is not allowed. Use one of {allowed}"
