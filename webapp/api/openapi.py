"""The OpenAPI 3.1 document, made from the endpoints and their models."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from webapp.accounts.models import Scope
from webapp.api.catalogue import ENDPOINTS
from webapp.api.endpoints import LIKE, Endpoint, Media
from webapp.api.idempotency import HEADER
from webapp.api.path_rows import PATH_ROWS
from webapp.api.problems import ProblemAnswer
from webapp.api.schemas import LIKENED
from webapp.idempotency.models import LONGEST_KEY

Schema = dict[str, Any]
Mode = Literal["validation", "serialization"]
PREFIX = "/api/v1/"
REFERENCE = "#/components/schemas/{model}"
ABOUT = (
    "Access runs, their events and their metrics, launch runs and sweeps and control them.\n\n"
    "Send a personal token as `Authorization: Bearer sb_…`; create one on the page API tokens. A browser may send the "
    "cookie of a sign-in instead, and then needs the CSRF token in `X-CSRFToken` for POST. A token may make a number "
    "of requests a minute, which `RateLimit-Policy` and `RateLimit` say; after that the status is 429, and "
    "`Retry-After` says how many seconds to wait. Errors say what is wrong in `error` and what to do in `remedy`."
)
KEY = {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[ -~]+$"}
GENERAL = {
    400: "The query or the body cannot be read.",
    401: "The token or the sign-in is missing or not valid.",
    403: "The token lacks the scope, or a browser's request the CSRF token.",
    429: "The token has used up its requests for this minute.",
}
OF_BODY = {413: "The body is too large.", 422: "`errors` has the reasons by field of the body."}


@cache
def openapi() -> Schema:
    schemas, names = _components()
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Starboard", "version": "1", "description": ABOUT},
        "tags": [{"name": tag} for tag in dict.fromkeys(one.tag for one in ENDPOINTS)],
        "paths": _paths(schemas, names),
        "components": {
            "schemas": {name: schema for name, schema in sorted(schemas.items()) if name not in _queries(names)},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Scopes: " + "; ".join(f"`{scope.value}`: {scope.label.lower()}" for scope in Scope),
                },
                "session": {"type": "apiKey", "in": "cookie", "name": "starboard_session_<installation>"},
            },
        },
        "security": [{"token": []}, {"session": []}],
    }
    found: Schema = _with_references(document)
    return found


def _components() -> tuple[Schema, dict[type[BaseModel], str]]:
    """The schemas of all models by name, and the name of each model."""
    wanted: dict[type[BaseModel], Mode] = {ProblemAnswer: "serialization", **dict.fromkeys(LIKENED, "serialization")}
    for one in ENDPOINTS:
        wanted |= {model: "validation" for model in (one.query, one.body) if model is not None}
        if not isinstance(one.answer, Media):
            wanted[one.answer] = "serialization"
    references, document = models_json_schema(list(wanted.items()), ref_template=REFERENCE)
    names = {model: str(references[model, mode]["$ref"]).rpartition("/")[2] for model, mode in wanted.items()}
    return document["$defs"], names


def _queries(names: dict[type[BaseModel], str]) -> set[str]:
    """Queries are listed as parameters."""
    return {names[one.query] for one in ENDPOINTS if one.query is not None}


def _paths(schemas: Schema, names: dict[type[BaseModel], str]) -> Schema:
    paths: Schema = {}
    for one in ENDPOINTS:
        paths.setdefault(PREFIX + one.path, {})[one.method.lower()] = _operation(one, schemas, names)
    return paths


def _operation(one: Endpoint, schemas: Schema, names: dict[type[BaseModel], str]) -> Schema:
    operation: Schema = {
        "operationId": one.name,
        "tags": [one.tag],
        "summary": one.summary,
        **({"description": one.description} if one.description else {}),
        "security": [{"token": [one.scope.value]}, {"session": []}],
        "parameters": _parameters(one, schemas[names[one.query]] if one.query else {}),
        "responses": {str(one.status): _answer(one, names), **_problems(one)},
    }
    if one.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _ref(names[one.body])}},
        }
    elif one.takes_lines:
        operation["requestBody"] = {"required": True, "content": {one.body_media: {"schema": {"type": "string"}}}}
    return operation


def _parameters(one: Endpoint, query: Schema) -> list[Schema]:
    found: list[Schema] = []
    for name in (*one.rows, *one.numbers):
        row = PATH_ROWS.get(name)
        about = row.description if row else "The number in the URL of its page."
        schema = {"type": row.type if row else "integer"}
        found.append({"name": name, "in": "path", "required": True, "description": about, "schema": schema})
    if one.idempotent:
        about = "Any text, such as a UUID: the same key and body give the same answer for 24 hours."
        found.append({"name": HEADER, "in": "header", "description": about, "schema": KEY})
    for name, schema in query.get("properties", {}).items():
        plain = {key: value for key, value in schema.items() if key not in ("description", "title")}
        found.append(
            {
                "name": name,
                "in": "query",
                "required": name in query.get("required", []),
                "description": schema.get("description", ""),
                "schema": plain,
            }
        )
    return found


def _answer(one: Endpoint, names: dict[type[BaseModel], str]) -> Schema:
    if isinstance(one.answer, Media):
        return {"description": one.answer.description, "content": _texts(one.answer)}
    return {
        "description": "The request succeeded.",
        "content": {"application/json": {"schema": _ref(names[one.answer])}},
    }


def _texts(media: Media) -> Schema:
    return {name: {"schema": {"type": "string"}} for name in (media.type, *media.others)}


def _problems(one: Endpoint) -> Schema:
    found = dict(GENERAL)
    for name in one.rows:
        found[404] = f"There is no such {PATH_ROWS[name].parameter}."
    if one.numbers:
        found[404] = "There is none with this number."
    if one.method == "POST":
        found |= OF_BODY
    found |= one.problems
    content = {"application/json": {"schema": _ref(ProblemAnswer.__name__)}}
    return {str(status): {"description": text, "content": content} for status, text in sorted(found.items())}


def _ref(name: str) -> Schema:
    return {"$ref": REFERENCE.format(model=name)}


def _with_references(part: Any) -> Any:
    """Marks of `endpoints.like` as references to the models' own schemas."""
    if isinstance(part, dict):
        if LIKE in part:
            return {**_ref(part[LIKE]), **{key: value for key, value in part.items() if key == "description"}}
        return {key: _with_references(value) for key, value in part.items()}
    return [_with_references(value) for value in part] if isinstance(part, list) else part
