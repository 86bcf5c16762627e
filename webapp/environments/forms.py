"""The environment form: one kind's parameters and what every environment has, checked by the engine's classes."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError as FormError
from pydantic import ValidationError

from engine.config import EnvironmentConfig, problems_by_field
from engine.environments import environment_class
from webapp.environments.fields import fields_of
from webapp.environments.limits import why_infeasible
from webapp.environments.models import EnvironmentDefinition

PARAMETER = "parameter_"
BUDGETS = ["max_turns", "max_actions_per_turn", "max_actions", "max_response_tokens", "format_penalty"]


def tag_for(name: str) -> str:
    """`name` as a tag: metric names are paths, so it has no slash and no sign that only some see.

    A definition keeps its first tag when it is renamed: new runs stay comparable with old ones.
    """
    return re.sub(r"[^\w .()+-]", "-", name)


class EnvironmentForm(forms.Form):
    """What a user says of one environment. When valid, `config` is the engine's; the same form serves the preview."""

    name = forms.CharField(max_length=60, help_text="How you will find it, and its name in metrics and tables.")

    config: EnvironmentConfig

    def __init__(
        self,
        data: Any = None,
        *,
        kind: str,
        current: EnvironmentConfig | None = None,
        definition: EnvironmentDefinition | None = None,
        needs_name: bool = True,
    ) -> None:
        super().__init__(data)
        self.kind = environment_class(kind)
        self.definition = definition
        self.current = current
        self.fields["name"].required = needs_name
        self.fields["instruction"] = forms.CharField(
            required=False,
            max_length=4000,
            widget=forms.Textarea(attrs={"rows": 4}),
            help_text=EnvironmentConfig.model_fields["instruction"].description or "",
            initial=self.kind.default_instruction,
        )
        for name, field in fields_of(self.kind.Config).items():
            self.fields[PARAMETER + name] = field
        self.fields.update(fields_of(EnvironmentConfig, BUDGETS))
        self.initial.update(self._values_of(current or EnvironmentConfig.model_validate({"kind": kind})))
        self.initial["name"] = definition.name if definition else ""

    @property
    def parameter_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(PARAMETER)]

    @property
    def budget_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in BUDGETS]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        taken = EnvironmentDefinition.objects.filter(name=name)
        if self.definition:
            taken = taken.exclude(pk=self.definition.pk)
        if name and taken.exists():
            raise FormError(f"There is an environment called {name} already. Choose another name, or edit that one.")
        return name

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if self.errors.keys() - {"name"}:
            return cleaned
        parameters = {name: cleaned[PARAMETER + name] for name in self.kind.Config.model_fields}
        try:
            self.kind.Config(**parameters)
        except ValidationError as error:
            self._add_problems(error, PARAMETER)
            return cleaned
        try:
            self.config = EnvironmentConfig.model_validate(self._config_data(cleaned, parameters))
        except ValidationError as error:
            self._add_problems(error, "")
            return cleaned
        if problem := why_infeasible(self.config):
            self.add_error("max_actions", problem)
        return cleaned

    def errors_by_field(self) -> dict[str, list[str]]:
        return {name: [str(message) for message in messages] for name, messages in self.errors.items()}

    def _config_data(self, cleaned: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
        return {
            "kind": self.kind.kind,
            "tag": self.current.tag if self.current else tag_for(cleaned.get("name", "")),
            "instruction": cleaned["instruction"],
            "parameters": parameters,
            **{name: cleaned[name] for name in BUDGETS},
        }

    def _add_problems(self, error: ValidationError, prefix: str) -> None:
        """Each problem at its field; one that concerns no field of this form at the top."""
        for field, reason in problems_by_field(error):
            name = prefix + field.split(".")[0]
            self.add_error(name if name in self.fields else None, reason)

    def _values_of(self, config: EnvironmentConfig) -> dict[str, Any]:
        parameters = self.kind.Config(**config.parameters).model_dump(mode="json")
        return {
            "instruction": config.instruction,
            **{PARAMETER + name: value for name, value in parameters.items()},
            **{name: getattr(config, name) for name in BUDGETS},
        }
