"""The fields that an axis can have, for the search of the form: those of the form of a run, and of its environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.config import RunConfig
from engine.sweeps.axes import NOT_SWEPT
from webapp.forms import run_config
from webapp.forms.fields import FormField, Node, Variants
from webapp.forms.texts import flatten, text_of

NOT_OF_ENVIRONMENTS = ("kind", "tag", "limits", "parameters")  # the last are listed on their own


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptField:
    """`now` is the value of the base, empty for a field that its types of sections do not have."""

    name: str
    label: str
    now: str
    choices: str = ""

    @property
    def text(self) -> str:
        parts = [self.label, f"now {self.now}" if self.now else "", self.choices]
        return " · ".join(filter(None, parts))


def swept_fields(base: RunConfig) -> list[SweptField]:
    """Each once, in the order of the form of a run."""
    config = base.model_dump(mode="json")
    now = flatten(config)
    found: dict[str, SweptField] = {}
    for section in run_config.sections():
        for field in _inputs(section.nodes):
            if field.name not in NOT_SWEPT and field.kind != "json":
                choices = ", ".join(field.options)
                label = f"{section.title}: {field.label}" if section.key else field.label
                found.setdefault(
                    field.name,
                    SweptField(name=field.name, label=label, now=now.get(field.name, ""), choices=choices),
                )
    return [*found.values(), *_of_environments(config["environments"])]


def _inputs(nodes: list[Node]) -> Iterator[FormField]:
    """Those of every variant, chosen or not."""
    for node in nodes:
        if isinstance(node, Variants):
            yield node.choice
            for variant in node.variants:
                yield from _inputs(variant.nodes)
        else:
            yield node


def _of_environments(environments: list[Mapping[str, Any]]) -> Iterator[SweptField]:
    for index, environment in enumerate(environments):
        plain = {name: value for name, value in environment.items() if name not in NOT_OF_ENVIRONMENTS}
        parameters = {f"parameters.{name}": value for name, value in environment["parameters"].items()}
        for name, value in {**plain, **parameters}.items():
            if isinstance(value, bool | int | float | str):
                label = f"{environment['tag']}: {name.removeprefix('parameters.').replace('_', ' ')}"
                yield SweptField(name=f"environments.{index}.{name}", label=label, now=text_of(value)[:40])
