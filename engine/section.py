"""`Section`: the base of every part of a configuration, and unions of sections discriminated by their `type`.

A setting with variants (an algorithm, a filter, a schedule) is such a union: each variant is one class with only the
fields that it reads, so a file, a form and the validator have no field without an effect. Alert rules are such a union
as well, discriminated by their `kind`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.fields import FieldInfo

TYPE = "type"


class Section(BaseModel):
    """Closed, so that a misspelt key is an error, and immutable. `true` is not taken for the number 1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _a_boolean_is_no_number(cls, data: Any) -> Any:
        numbers = _numbers_of(cls)
        for name, value in data.items() if isinstance(data, Mapping) else ():
            if name in numbers and any(isinstance(one, bool) for one in _values(value)):
                raise ValueError(f"{name}: must be a {numbers[name]}, got {value!r}")
        return data


@cache
def _numbers_of(section: type[Section]) -> dict[str, str]:
    """Its fields that take numbers and no booleans, with the kind of number."""
    found = {}
    for name, info in section.model_fields.items():
        types = {*_types(info.annotation)}
        if types & {int, float} and not types & {bool, Any}:
            found[name] = "number" if float in types else "whole number"
    return found


def _values(value: Any) -> Iterator[Any]:
    """What is in a list or a dictionary, at any depth."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict | list | tuple):
            left.extend(one.values() if isinstance(one, dict) else one)
        else:
            yield one


def _types(annotation: Any) -> Iterator[type]:
    """Those that the parts of a value may have: int and None of `tuple[int, ...] | None`."""
    for one in get_args(annotation):
        yield from _types(one)
    if isinstance(annotation, type) or annotation is Any:
        yield annotation


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
