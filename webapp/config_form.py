"""`RunConfig` as form fields, read off its pydantic models: a new field of the engine appears here by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from engine.config import RunConfig

# chosen elsewhere: the environment by its version, the labels by what is chosen, lists of rules in a file or by REST
ELSEWHERE = frozenset({"environments", "preset", "detectors.rules"})
SECTION_TITLES = {
    "": "Run",
    "model": "Model",
    "rollout": "Rollout",
    "algorithm": "Advantages",
    "loss": "Loss",
    "filter": "Group filter",
    "optimizer": "Optimizer",
    "diagnostics": "Collapse diagnostics",
    "evaluation": "Held-out evaluation",
    "checkpoint": "Checkpoints",
    "capture": "Recorded trajectories",
    "stop": "Early stops",
    "detectors": "What follows an alert",
    "cluster": "Cluster",
}


@dataclass(slots=True, kw_only=True)
class ConfigField:
    """One input. `name` is the dotted path in the config; `value` is text as a form has it."""

    name: str
    label: str
    help: str
    kind: Literal["int", "float", "bool", "choice", "text"]
    default: str
    choices: list[str] = field(default_factory=list)
    low: float | None = None
    high: float | None = None
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
    def id_for_label(self) -> str:
        return f"field-{self.name.replace('.', '-')}"


@dataclass(slots=True, kw_only=True)
class ConfigSection:
    key: str
    title: str
    fields: list[ConfigField]


def sections() -> list[ConfigSection]:
    """Every field of a run but its environments, in the order of the config."""
    own = ConfigSection(key="", title=SECTION_TITLES[""], fields=[])
    found = [own]
    for name, info in RunConfig.model_fields.items():
        if name in ELSEWHERE:
            continue
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            fields = list(_fields(name, info.annotation))
            found.append(ConfigSection(key=name, title=SECTION_TITLES.get(name, name.capitalize()), fields=fields))
        else:
            own.fields.append(field_of(name, info))
    return found


def _fields(prefix: str, section: type[BaseModel]) -> Iterator[ConfigField]:
    """Those of a section and of the sections inside it, in order."""
    for inner, info in section.model_fields.items():
        name = f"{prefix}.{inner}"
        if name in ELSEWHERE:
            continue
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from _fields(name, info.annotation)
        else:
            yield field_of(name, info)


def fill(
    form: list[ConfigSection], values: Mapping[str, str], preset: Mapping[str, str], errors: Mapping[str, str]
) -> list[ConfigSection]:
    """Gives each field its value, what the preset says, and its error."""
    for section in form:
        for one in section.fields:
            one.preset_value = preset.get(one.name, one.default)
            one.value = values.get(one.name, one.preset_value)
            one.error = errors.get(one.name, "")
    return form


def posted(data: Mapping[str, str]) -> dict[str, str]:
    """What a form sent, with a "false" for each box that is not ticked: a browser sends nothing for it."""
    boxes = (one.name for section in sections() for one in section.fields if one.kind == "bool")
    ticks = {name: _text(data.get(name) in ("on", "true")) for name in boxes}
    return {name: str(value) for name, value in data.items()} | ticks


def flatten(data: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A config as `{dotted path: text}`; environments are left out."""
    flat: dict[str, str] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            flat[f"{prefix}{key}"] = _text(value)
    return flat


def nested(values: Mapping[str, str]) -> dict[str, Any]:
    """What a form posted, as the dictionary that `RunConfig` is built from; texts are left for pydantic to read."""
    data: dict[str, Any] = {}
    for section in sections():
        for one in section.fields:
            *path, key = one.name.split(".")
            target = data
            for part in path:
                target = target.setdefault(part, {})
            if one.kind == "bool":
                target[key] = values.get(one.name) in ("on", "true")
            elif one.name in values:
                target[key] = values[one.name].strip()
    return data


def field_of(name: str, info: FieldInfo) -> ConfigField:
    """One field of a pydantic model as a form shows it."""
    kind, choices = _kind(info.annotation)
    bounds = {type(m).__name__: m for m in info.metadata}
    low = next((getattr(bounds[k], a) for k, a in (("Ge", "ge"), ("Gt", "gt")) if k in bounds), None)
    high = next((getattr(bounds[k], a) for k, a in (("Le", "le"), ("Lt", "lt")) if k in bounds), None)
    return ConfigField(
        name=name,
        label=(name.partition(".")[2] or name).replace(".", " ").replace("_", " ").capitalize(),
        help=(info.description or "").replace("`", ""),
        kind=kind,
        default=_text(info.default),
        choices=choices,
        low=low,
        high=high,
    )


def _kind(annotation: Any) -> tuple[Literal["int", "float", "bool", "choice", "text"], list[str]]:
    if get_origin(annotation) is Literal:
        return "choice", [str(choice) for choice in get_args(annotation)]
    if annotation is bool:
        return "bool", []
    if annotation in (int, float):
        return ("int", []) if annotation is int else ("float", [])
    return "text", []


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if isinstance(value, NoneType) else str(value)
