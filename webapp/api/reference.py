"""The documentation page's content, read from the OpenAPI document."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from webapp.api.openapi import Schema, openapi

METHODS = ("get", "post")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    name: str
    type: str
    required: bool
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    description: list[str]  # paragraphs
    scope: str
    parameters: list[FieldRow]
    body: list[FieldRow]
    body_media: str
    example: str
    answer_status: str
    answer_name: str
    answer: list[FieldRow]
    problems: list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    title: str
    operations: list[Operation] = field(default_factory=list)


@cache
def sections() -> list[Section]:
    found = {tag["name"]: Section(title=tag["name"]) for tag in openapi()["tags"]}
    for path, methods in openapi()["paths"].items():
        for method in METHODS:
            if method in methods:
                found[methods[method]["tags"][0]].operations.append(_operation(path, method, methods[method]))
    return list(found.values())


def _operation(path: str, method: str, one: Schema) -> Operation:
    media, body = _content(one.get("requestBody", {}))
    status = next(status for status in one["responses"] if status.startswith("2"))
    _, answer = _content(one["responses"][status])
    example = _resolved(body).get("examples", [None])[0]
    return Operation(
        id=one["operationId"],
        method=method.upper(),
        path=path,
        summary=one["summary"],
        description=one["description"].split("\n\n") if "description" in one else [],
        scope=one["security"][0]["token"][0],
        parameters=[_parameter(each) for each in one["parameters"]],
        body=_fields(body),
        body_media=media,
        example=json.dumps(example, ensure_ascii=False) if example is not None else "",
        answer_status=status,
        answer_name=_name(answer),
        answer=_fields(answer),
        problems=[(code, said["description"]) for code, said in one["responses"].items() if not code.startswith("2")],
    )


def _content(part: Schema) -> tuple[str, Schema]:
    for media, content in part.get("content", {}).items():
        return media, content["schema"]
    return "", {}


def _parameter(one: Schema) -> FieldRow:
    kind = f"{type_of(one['schema'])}, {one['in']}"
    return FieldRow(name=one["name"], type=kind, required=one.get("required", False), description=one["description"])


def _fields(schema: Schema) -> list[FieldRow]:
    found = _resolved(schema)
    return [
        FieldRow(
            name=name,
            type=type_of(one),
            required=name in found.get("required", []),
            description=one.get("description", ""),
        )
        for name, one in found.get("properties", {}).items()
    ]


def type_of(schema: Schema) -> str:
    """In a few words: `integer, 1 to 500, default 50`."""
    if "$ref" in schema:
        name, found = _name(schema), _resolved(schema)
        return " | ".join(map(str, found["enum"])) if "enum" in found else name
    if "anyOf" in schema:
        words = [type_of(one) for one in schema["anyOf"] if one.get("type") != "null"]
        nullable = len(words) < len(schema["anyOf"])
        return " or ".join([*words, *(["null"] if nullable and "default" not in schema else [])])
    kind = " | ".join(map(str, schema["enum"])) if "enum" in schema else _plain(schema)
    return ", ".join([kind, *_bounds(schema)])


def _plain(schema: Schema) -> str:
    kind = schema.get("type", "any")
    if kind == "array":
        return f"array of {type_of(schema.get('items', {}))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _bounds(schema: Schema) -> list[str]:
    found = []
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None and high < 2**53:
        found.append(f"{low} to {high:,}" if low is not None else f"at most {high:,}")
    if (default := schema.get("default")) not in (None, "", [], {}):
        found.append(f"default {default}")
    return found


def _resolved(schema: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = openapi()["components"]["schemas"][_name(schema)]
    return found


def _name(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]
