"""`Section`: the base of every part of a configuration, and unions of sections discriminated by their `type`.

A setting with variants (an algorithm, a filter, a schedule) is such a union: each variant is one class with only the
fields that it reads, so a file, a form and the validator have no field without an effect. Alert rules are such a union
as well, discriminated by their `kind`.
"""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo

TYPE = "type"


class Section(BaseModel):
    """Closed, so that a misspelt key is an error, and immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def variants_of(info: FieldInfo) -> dict[str, type[BaseModel]]:
    """`{type: class}` of a field that is a union of variants, in order; empty for any other field."""
    if not isinstance(info.discriminator, str):
        return {}
    members = get_args(info.annotation)
    return {str(get_args(one.model_fields[info.discriminator].annotation)[0]): one for one in members}


def union_variants(union: Any) -> dict[str, type[BaseModel]]:
    """`variants_of` for a type, as in `union_variants(Algorithm)`."""
    return variants_of(FieldInfo.from_annotation(union))


def section_class(info: FieldInfo) -> type[BaseModel] | None:
    """The class of a field that is one section, else None."""
    annotation = info.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
