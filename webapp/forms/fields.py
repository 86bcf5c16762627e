"""A pydantic class as inputs of a form: their kind, bounds, choices, defaults and help all come from the class.

A field that is a union of variants (`engine.section`) becomes a choice of its type, with the inputs of each variant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from engine.section import section_class, variants_of
from webapp.forms.texts import text_of

Kind = Literal["int", "float", "bool", "choice", "text", "long", "json"]
LONG_TEXT = 1000  # characters above which a text gets an input of several lines


@dataclass(slots=True, kw_only=True)
class FormField:
    """One input. `name` is the dotted path of the value; `value` and `default` are text as a form has it.

    `scope` names the variant that the field belongs to: fields of two variants may have one name, never one id.
    """

    name: str
    label: str
    help: str
    kind: Kind
    default: str
    choices: list[Any] = field(default_factory=list)
    low: float | None = None
    high: float | None = None
    max_length: int | None = None
    scope: str = ""
    optional: bool = False  # empty stands for None
    locked: str = ""  # why the user may not change it
    essential: bool = False  # shown before all sections
    value: str = ""
    preset_value: str = ""
    error: str = ""

    @property
    def changed(self) -> bool:
        return self.value != self.preset_value

    @property
    def step(self) -> str:
        return "1" if self.kind == "int" else "any"

    @property
    def ticked(self) -> bool:
        return self.value in ("true", "on")

    @property
    def id_for_label(self) -> str:
        return "-".join(filter(None, ("field", self.name.replace(".", "-"), self.scope)))

    @property
    def options(self) -> list[str]:
        return [str(choice) for choice in self.choices]

    def fields(self) -> Iterator[FormField]:
        yield self


@dataclass(slots=True, kw_only=True)
class Variant:
    """The inputs of one variant. Those of a variant that is not chosen are hidden and not sent."""

    type: str
    nodes: list[Node]
    active: bool = False


@dataclass(slots=True, kw_only=True)
class Variants:
    """A choice of a type, and the inputs of each. `name` is the dotted path of the union."""

    name: str
    choice: FormField
    variants: list[Variant]

    @property
    def chosen(self) -> Variant | None:
        return next((one for one in self.variants if one.active), None)

    def fields(self) -> Iterator[FormField]:
        """The choice and the inputs of what is chosen."""
        yield self.choice
        if self.chosen is not None:
            yield from all_fields(self.chosen.nodes)


Node = FormField | Variants


def fields_of(
    model: type[BaseModel],
    prefix: str = "",
    *,
    only: Sequence[str] | None = None,
    without: Collection[str] = (),
    scope: str = "",
) -> list[Node]:
    """The inputs of `model` and of the sections inside it, in order, or those of `only`; none of `without` (dotted)."""
    nodes: list[Node] = []
    for inner in only or [*model.model_fields]:
        name = f"{prefix}{inner}"
        if name not in without:
            nodes += nodes_of(name, model.model_fields[inner], without=without, scope=scope)
    return nodes


def nodes_of(name: str, info: FieldInfo, *, without: Collection[str] = (), scope: str = "") -> list[Node]:
    """The inputs of one field of a class, which may be a section or a union itself."""
    if variants := variants_of(info):
        return [_variants(name, info, variants, without, scope)]
    if (section := section_class(info)) is not None:
        return fields_of(section, f"{name}.", without=without, scope=scope)
    return [field_of(name, info, scope=scope)]


def union_node(name: str, union: Any) -> Variants:
    """The inputs of a union on its own, as for an item of a list."""
    info = FieldInfo.from_annotation(union)
    return _variants(name, info, variants_of(info), (), "")


def field_of(name: str, info: FieldInfo, *, scope: str = "") -> FormField:
    """One input for one value."""
    annotation, optional = _without_none(info.annotation)
    kind, choices = _kind(info, annotation)
    return FormField(
        name=name,
        label=label_of(name),
        help=(info.description or "").replace("`", ""),
        kind=kind,
        default=_default(info),
        choices=choices,
        low=_bound(info, "ge", "gt"),
        high=_bound(info, "le", "lt"),
        max_length=_bound(info, "max_length"),
        scope=scope,
        optional=optional,
    )


def label_of(name: str) -> str:
    """`rollout.group_size` as "Group size": the section is a heading above."""
    words = (name.partition(".")[2] or name).replace(".", " ").replace("_", " ").capitalize()
    return words.replace("Kl ", "KL ").replace("Lora", "LoRA")


def all_fields(nodes: Sequence[Node]) -> Iterator[FormField]:
    """Every input that is shown: of variants, those of the chosen ones."""
    for node in nodes:
        yield from node.fields()


def _variants(
    name: str, info: FieldInfo, classes: dict[str, type[BaseModel]], without: Collection[str], scope: str
) -> Variants:
    default, tag = info.get_default(call_default_factory=True), str(info.discriminator)
    choice = FormField(
        name=f"{name}.{tag}",
        label=label_of(name),
        help=(info.description or "").replace("`", ""),
        kind="choice",
        default=str(getattr(default, tag, "")),
        choices=list(classes),
        scope=scope,
    )
    variants = [
        Variant(
            type=kind,
            nodes=fields_of(
                model, f"{name}.", without={*without, f"{name}.{tag}"}, scope="-".join(filter(None, (scope, kind)))
            ),
        )
        for kind, model in classes.items()
    ]
    return Variants(name=name, choice=choice, variants=variants)


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """The type of an optional number or text, and whether it is optional."""
    members = get_args(annotation)
    if NoneType in members and len(members) == 2:
        return next(one for one in members if one is not NoneType), True
    return annotation, False


def _kind(info: FieldInfo, annotation: Any) -> tuple[Kind, list[Any]]:
    if get_origin(annotation) is Literal:
        return "choice", list(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "choice", [member.value for member in annotation]
    if annotation is bool:
        return "bool", []
    if annotation is int:
        return "int", []
    if annotation is float:
        return "float", []
    if annotation is str:
        return ("long" if (_bound(info, "max_length") or 0) > LONG_TEXT else "text"), []
    return "json", []


def _bound(info: FieldInfo, *names: str) -> Any:
    found = (getattr(one, name) for one in info.metadata for name in names if getattr(one, name, None) is not None)
    return next(found, None)


def _default(info: FieldInfo) -> str:
    value = info.get_default(call_default_factory=True)
    if value is PydanticUndefined or value is None:
        return ""
    return text_of(value.value if isinstance(value, Enum) else value)
