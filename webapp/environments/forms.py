"""The environment form: one kind's parameters and what every environment has, checked by the engine's classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from engine.config import EnvironmentConfig, problems_by_field
from engine.environments import environment_class
from webapp.environments.limits import why_infeasible
from webapp.environments.models import EnvironmentDefinition
from webapp.forms.fields import FormField, Node, all_fields, fields_of
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
LONGEST_NAME = 60


def tag_for(name: str) -> str:
    """`name` as a tag: metric names are paths, so it has no slash and no invisible character.

    A definition keeps its first tag when it is renamed: new runs stay comparable with old ones.
    """
    return re.sub(r"[^\w .()+-]", "-", name)


class EnvironmentForm:
    """One environment as a form. When valid, `config` is the engine's; the preview uses the same form.

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
    ) -> None:
        self.kind = environment_class(kind)
        self.definition = definition
        self.current = current
        self.needs_name = needs_name
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
        self.budgets = fields_of(EnvironmentConfig, only=BUDGETS)
        self._fill()

    @property
    def nodes(self) -> list[Node]:
        return [self.name_field, *self.instruction, *self.parameters, *self.budgets]

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
        config = self.current or EnvironmentConfig.model_validate({"kind": self.kind.kind})
        parameters = self.kind.Config(**config.parameters).model_dump(mode="json")
        return {
            "name": self.definition.name if self.definition else "",
            "instruction": config.instruction,
            **{f"{PARAMETERS}{name}": text_of(value) for name, value in parameters.items()},
            **{name: text_of(getattr(config, name)) for name in BUDGETS},
        }

    def _boxes(self) -> list[str]:
        return [one.name for one in all_fields(self.nodes) if one.kind == "bool"]

    def _check_name(self) -> dict[str, str]:
        if not self.name:
            return {"name": "Give it a name: this field is required."}
        if len(self.name) > LONGEST_NAME or "\0" in self.name:
            return {"name": f"Give a name of at most {LONGEST_NAME} characters, without NUL."}
        taken = EnvironmentDefinition.objects.filter(name=self.name)
        if self.definition:
            taken = taken.exclude(pk=self.definition.pk)
        if taken.exists():
            return {
                "name": f"There is an environment called {self.name} already. Choose another name, or edit that one."
            }
        return {}

    def _check_config(self, data: Mapping[str, str]) -> dict[str, str]:
        """Sets `config`; errors by dotted field otherwise."""
        values, errors = parse([*self.instruction, *self.parameters, *self.budgets], data)
        if "\0" in data.get("instruction", ""):
            errors["instruction"] = "The text has a NUL character. Remove it."
        if errors:
            return errors
        try:
            self.kind.Config(**values.get("parameters", {}))
        except ValidationError as error:
            return {f"{PARAMETERS}{field}": why for field, why in problems_by_field(error, self.kind.Config)}
        try:
            self.config = EnvironmentConfig.model_validate({**values, **self._identity()})
        except ValidationError as error:
            return dict(problems_by_field(error, EnvironmentConfig))
        if problem := why_infeasible(self.config):
            return {"max_actions": problem}
        return {}

    def _identity(self) -> dict[str, Any]:
        if self.current:
            return {"kind": self.kind.kind, "tag": self.current.tag, "limits": self.current.limits}
        return {"kind": self.kind.kind, "tag": tag_for(self.name)}
