"""`Section`: the base of every part of a configuration, and unions of sections discriminated by their `type`.

A setting with variants (an algorithm, a filter, a schedule) is such a union: each variant is one class with only the
fields that it reads, so a file, a form and the validator have no field without an effect.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo

TYPE = "type"


class Section(BaseModel):
    """Closed, so that a misspelt key is an error, and immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def variants_of(info: FieldInfo) -> dict[str, type[BaseModel]]:
    """`{type: class}` of a field that is a union of variants, in order; empty for any other field."""
    return union_variants(info.annotation)


def union_variants(union: Any) -> dict[str, type[BaseModel]]:
    """`variants_of` for a type, as in `union_variants(Algorithm)`."""
    if get_origin(union) is Annotated:
        union = get_args(union)[0]
    members = [one for one in get_args(union) if isinstance(one, type) and issubclass(one, BaseModel)]
    if not members or not all(TYPE in one.model_fields for one in members):
        return {}
    return {str(get_args(one.model_fields[TYPE].annotation)[0]): one for one in members}


def section_class(info: FieldInfo) -> type[BaseModel] | None:
    """The class of a field that is one section, else None."""
    annotation = info.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
