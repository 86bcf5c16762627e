"""The environment form: one kind's parameters and what every environment has, checked by the engine's classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from engine.config import EnvironmentConfig, problems_by_field
from engine.environments import environment_class
from engine.environments.base import EnvironmentParameters
from engine.environments.wrappers import Layer
from webapp.environments.budgets import why_infeasible
from webapp.environments.models import EnvironmentDefinition
from webapp.environments.restrictions import (
    ADMINISTRATORS,
    changed_restricted,
    restricted_parameters,
    why_restricted,
)
from webapp.forms.fields import FormField, Node, Variants, all_fields, fields_of, label_of, union_node
from webapp.forms.texts import text_of
from webapp.forms.values import at_fields, fill, parse

PARAMETERS = "parameters."
BUDGETS = [
    "max_turns",
    "max_actions_per_turn",
    "max_actions",
    "max_response_tokens",
    "format_penalty",
    "surplus_actions",
]
LIMITS = "limits."
LONGEST_NAME = 60
MOST_WRAPPERS = 6  # as `EnvironmentConfig.wrappers` allows


def tag_for(name: str) -> str:
    """`name` as a tag: metric names are paths, so it has no slash and no invisible character.

    A definition keeps its first tag when it is renamed: new runs stay comparable with old ones.
    """
    return re.sub(r"[^\w .()+-]", "-", name)


def why_no_name(name: str, definition: EnvironmentDefinition | None) -> str:
    """Why the environment cannot have this name; empty if it can. `definition` is the one that is edited."""
    if not name:
        return "Give it a name: this field is required."
    if len(name) > LONGEST_NAME or "\0" in name:
        return f"Give a name of at most {LONGEST_NAME} characters, without NUL."
    taken = EnvironmentDefinition.objects.filter(name=name)
    if definition:
        taken = taken.exclude(pk=definition.pk)
    if taken.exists():
        return f"There is already an environment called {name}. Choose another name, or edit that one."
    return ""


def _wrapper_slot(index: int) -> Variants:
    """The choice of one layer, which may be left empty, and the settings of each."""
    slot = union_node(f"wrappers.{index}", Layer)
    slot.choice.label = "Innermost wrapper" if index == 0 else f"Wrapper {index + 1}"
    slot.choice.optional = True
    for variant in slot.variants:
        for one in all_fields(variant.nodes):
            one.label = label_of(one.name.removeprefix(f"wrappers.{index}."))
    return slot


def _limits() -> list[Node]:
    nodes = fields_of(EnvironmentConfig, only=["limits"])
    for one in all_fields(nodes):
        one.label = label_of(one.name.removeprefix(LIMITS))
    return nodes


class EnvironmentForm:
    """One environment as a form. When valid, `config` is the engine's; the preview uses the same form.

    `solves` also has a worker measure whether any problem can be solved within the budgets.

    `errors` has one reason by the name of an input; "" for what belongs to none.
    """

    config: EnvironmentConfig

    def __init__(
        self,
        data: Mapping[str, str] | None = None,
        *,
        kind: str,
        current: EnvironmentConfig | None = None,
        definition: EnvironmentDefinition | None = None,
        needs_name: bool = True,
        solves: bool = True,
        administrator: bool = False,
    ) -> None:
        self.kind = environment_class(kind)
        self.kind_name = kind
        self.administrator = administrator
        self.definition = definition
        self.current = current
        self.needs_name = needs_name
        self.solves = solves
        self.data = data
        self.errors: dict[str, str] = {}
        self.name_field = FormField(
            name="name",
            label="Name",
            help="Shown in lists, and the environment's name in metrics and tables.",
            kind="text",
            default="",
            max_length=LONGEST_NAME,
        )
        self.instruction = fields_of(EnvironmentConfig, only=["instruction"])
        self.parameters = fields_of(self.kind.Config, PARAMETERS)
        self.wrappers = [_wrapper_slot(index) for index in range(MOST_WRAPPERS)]
        self.budgets = fields_of(EnvironmentConfig, only=BUDGETS)
        self.limits = _limits()
        self.restricted = "" if administrator else why_restricted(self.kind, kind)
        self._lock()
        self._fill()

    @property
    def nodes(self) -> list[Node]:
        return [self.name_field, *self._configured]

    @property
    def _configured(self) -> list[Node]:
        return [*self.instruction, *self.parameters, *self.wrappers, *self.budgets, *self.limits]

    @property
    def limits_shown(self) -> bool:
        """Whether the limits are unfolded: one of them is not the kind's own, or has an error."""
        usual = EnvironmentConfig.model_validate({"kind": self.kind_name}).limits.model_dump(mode="json")
        own = {f"{LIMITS}{name}": text_of(value) for name, value in usual.items()}
        return any(one.error or one.value != own[one.name] for one in all_fields(self.limits))

    @property
    def shown_wrappers(self) -> int:
        """The slots in use, and one more."""
        used = [index for index, slot in enumerate(self.wrappers, start=1) if slot.choice.value]
        return max(used, default=0) + 1

    @property
    def fields_to_fix(self) -> int:
        return len(self.errors.keys() - {""})

    @property
    def name(self) -> str:
        return self.name_field.value.strip()

    def field(self, name: str) -> FormField:
        return next(one for one in all_fields(self.nodes) if one.name == name)

    def is_valid(self) -> bool:
        """Whether what was posted makes an environment; if not, every reason is at its input."""
        if self.data is None:
            return False
        errors = self._check_config(self.data) | (self._check_name() if self.needs_name else {})
        self.errors = at_fields(errors, self.nodes)
        self._fill()
        return not self.errors

    def _fill(self) -> None:
        initial = self._initial()
        posted = initial if self.data is None else {**dict.fromkeys(self._boxes(), "false"), **dict(self.data.items())}
        fill(self.nodes, posted, initial, self.errors)

    def _initial(self) -> dict[str, str]:
        config = self.current or EnvironmentConfig.model_validate({"kind": self.kind_name})
        parameters = self._before().model_dump(mode="json")
        return {
            "name": self.definition.name if self.definition else "",
            "instruction": config.instruction,
            **{f"{PARAMETERS}{name}": text_of(value) for name, value in parameters.items()},
            **{
                f"wrappers.{index}.{name}": text_of(value)
                for index, layer in enumerate(config.wrappers)
                for name, value in layer.model_dump(mode="json").items()
            },
            **{name: text_of(getattr(config, name)) for name in BUDGETS},
            **{f"{LIMITS}{name}": text_of(value) for name, value in config.limits.model_dump(mode="json").items()},
        }

    def _boxes(self) -> list[str]:
        return [one.name for one in all_fields(self.nodes) if one.kind == "bool"]

    def _check_name(self) -> dict[str, str]:
        problem = why_no_name(self.name, self.definition)
        return {"name": problem} if problem else {}

    def _check_config(self, data: Mapping[str, str]) -> dict[str, str]:
        """Sets `config`; errors by dotted field otherwise."""
        values, errors = parse(self._configured, data)
        slots = values.pop("wrappers", {})
        values["wrappers"] = [slots[index] for index in sorted(slots) if slots[index].get("type")]
        if "\0" in data.get("instruction", ""):
            errors["instruction"] = "The text has a NUL character. Remove it."
        if errors:
            return errors
        if self.restricted:
            return {"": f"{ADMINISTRATORS} {self.restricted}"}
        try:
            given = self.kind.Config(**values.get("parameters", {}))
        except ValidationError as error:
            return {f"{PARAMETERS}{field}": why for field, why in problems_by_field(error, self.kind.Config)}
        if refused := self._refused(given):
            return refused
        try:
            self.config = EnvironmentConfig.model_validate({**values, **self._identity()})
        except ValidationError as error:
            return dict(problems_by_field(error, EnvironmentConfig))
        if self.solves and (problem := why_infeasible(self.config)):
            return {"max_actions": problem}
        return {}

    def _refused(self, given: EnvironmentParameters) -> dict[str, str]:
        """Parameters that this user may not change, and has."""
        if self.administrator:
            return {}
        before = self._before().model_dump(mode="json")
        changed = changed_restricted(self.kind, before, given.model_dump(mode="json"))
        return {f"{PARAMETERS}{name}": f"{ADMINISTRATORS} {reason}" for name, reason in changed.items()}

    def _lock(self) -> None:
        reasons = {} if self.administrator else restricted_parameters(self.kind)
        for one in all_fields(self.parameters):
            if reason := reasons.get(one.name.removeprefix(PARAMETERS), ""):
                one.locked = f"{ADMINISTRATORS} {reason}"

    def _before(self) -> EnvironmentParameters:
        return self.kind.Config(**(self.current.parameters if self.current else {}))

    def _identity(self) -> dict[str, Any]:
        if self.current:
            return {"kind": self.kind_name, "tag": self.current.tag}
        return {"kind": self.kind_name, "tag": tag_for(self.name)}
