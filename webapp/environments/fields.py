"""Form fields out of pydantic classes: the widget, bounds and help of each come from its JSON schema."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from pydantic import BaseModel

Schema = dict[str, Any]


class JSONText(forms.CharField):
    """A value with structure, such as a list of symbols, written as JSON."""

    widget = forms.Textarea(attrs={"rows": 4, "class": "mono", "spellcheck": "false"})

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)

    def clean(self, value: Any) -> Any:
        try:
            return json.loads(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise forms.ValidationError(f"This is not JSON: {error}. Write it as the default is written.") from None


class Choice(forms.ChoiceField):
    """One of a schema's values, whatever their JSON type."""

    def __init__(self, values: list[Any], **options: Any) -> None:
        self.by_text = {str(value): value for value in values}
        super().__init__(choices=[(text, text.replace("_", " ")) for text in self.by_text], **options)

    def clean(self, value: Any) -> Any:
        return self.by_text[super().clean(value)]


def fields_of(model: type[BaseModel], only: list[str] | None = None) -> dict[str, forms.Field]:
    """A form field per field of `model` (or those of `only`, in that order), by name."""
    schema = model.model_json_schema()
    properties: dict[str, Schema] = schema.get("properties", {})
    return {name: _field(name, _resolved(properties[name], schema)) for name in only or list(properties)}


def _field(name: str, schema: Schema) -> forms.Field:
    common: dict[str, Any] = {
        "label": name.replace("_", " ").capitalize(),
        "help_text": schema.get("description", ""),
        "initial": schema.get("default"),
    }
    values = schema.get("enum")
    if values is None and "const" in schema:
        values = [schema["const"]]
    if values is not None:
        return Choice(values, **common)
    match schema.get("type"):
        case "boolean":
            return forms.BooleanField(required=False, **common)
        case "integer":
            return forms.IntegerField(**_bounds(schema, whole=True), **common)
        case "number":
            return forms.FloatField(
                widget=forms.NumberInput(attrs={"step": "any"}), **_bounds(schema, whole=False), **common
            )
        case "string":
            return forms.CharField(
                required=False, strip=False, max_length=schema.get("maxLength"), empty_value="", **common
            )
    return JSONText(**common)


def _bounds(schema: Schema, *, whole: bool) -> dict[str, Any]:
    """The bounds that a browser can hold to; pydantic checks the open ends as well."""
    bounds: dict[str, Any] = {}
    if (low := schema.get("minimum", schema.get("exclusiveMinimum"))) is not None:
        bounds["min_value"] = low + 1 if whole and "exclusiveMinimum" in schema else low
    if (high := schema.get("maximum", schema.get("exclusiveMaximum"))) is not None:
        bounds["max_value"] = high - 1 if whole and "exclusiveMaximum" in schema else high
    return bounds


def _resolved(schema: Schema, root: Schema) -> Schema:
    """`schema` with a reference to an enumeration followed."""
    reference = schema.get("$ref") or next((part.get("$ref") for part in schema.get("allOf", [])), None)
    if reference is None:
        return schema
    target: Schema = root["$defs"][reference.rsplit("/", 1)[-1]]
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
