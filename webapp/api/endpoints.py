"""The routes of the API as functions. Their signatures are checked at each request and described by OpenAPI.

    @resource.post("runs/{run_id}/labels", scope=Scope.LAUNCH, problems={403: "…"})
    def label_run(call: Call, run: Run, body: Labels) -> Annotated[dict[str, Any], RunAnswer]:
        \"\"\"Set the project, the tags or the notes of a run.\"\"\"

The names of parameters say what they are: `run` is the row of the path's `run_id` (and so on, `path_rows`), a name of
another part of the path is its number, `query` and `body` are pydantic models of the query string and of the JSON body.
An answer is a pydantic model, or is described by the model in its annotation and sent as it is, since columns of
metrics are too large to be validated again. The name of a function is its `operationId`, and its docstring is the
description.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args, get_type_hints

from django.contrib.auth.models import User
from django.http import HttpRequest
from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import WithJsonSchema

from webapp.accounts.models import PersonalToken, Scope
from webapp.api.path_rows import PATH_ROWS
from webapp.projects.models import Role

LONGEST_BODY = 256 * 1024  # bytes, unless an endpoint says otherwise
JSON = "application/json"
LIKE = "x-like"
PART = re.compile(r"\{(\w+)\}")  # of a path

Handler = Callable[..., Any]


class Fields(BaseModel):
    """What a client sends: a query or a body. Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who calls: with a token, or without in a browser."""

    request: HttpRequest
    user: User
    token: PersonalToken | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """An answer that is not JSON; `others` are further types that it may have."""

    type: str
    others: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """`route` is the name for `reverse`; `needs` is the role in the projects of the path's rows; `in_brief` is for a
    function that uses no more than their ids; `problems` has a sentence for each status that the function itself
    raises."""

    handler: Handler
    method: str
    path: str
    route: str
    tag: str
    scope: Scope
    needs: Role
    in_brief: bool
    status: int
    most_bytes: int
    body_media: str
    idempotent: bool
    problems: Mapping[int, str]
    query: type[Fields] | None
    body: type[Fields] | None
    answer: type[BaseModel] | Media

    @property
    def name(self) -> str:
        return self.handler.__name__

    @property
    def summary(self) -> str:
        return self._text.partition("\n\n")[0].replace("\n", " ").rstrip(".")

    @property
    def description(self) -> str:
        return self._text.partition("\n\n")[2].replace("\n\n", "\f").replace("\n", " ").replace("\f", "\n\n")

    @property
    def takes_lines(self) -> bool:
        """Whether its body is no JSON object, and its function reads it."""
        return self.body_media != JSON

    @property
    def rows(self) -> list[str]:
        """The parts of the path that name a row, such as `run_id`."""
        return [name for name in PART.findall(self.path) if name in PATH_ROWS]

    @property
    def numbers(self) -> list[str]:
        """The other parts of the path, all of them numbers; parameters have their names."""
        return [name for name in PART.findall(self.path) if name not in PATH_ROWS]

    @property
    def _text(self) -> str:
        return inspect.getdoc(self.handler) or ""


@dataclass(slots=True, kw_only=True)
class Resource:
    """The endpoints of one file."""

    tag: str
    endpoints: list[Endpoint] = field(default_factory=list)

    def get(self, path: str, **options: Any) -> Callable[[Handler], Handler]:
        return self._add("GET", path, **options)

    def post(self, path: str, *, needs: Role = Role.EDITOR, **options: Any) -> Callable[[Handler], Handler]:
        return self._add("POST", path, needs=needs, **options)

    def _add(
        self,
        method: str,
        path: str,
        *,
        route: str = "",
        scope: Scope = Scope.READ,
        needs: Role = Role.VIEWER,
        in_brief: bool = False,
        status: int = 200,
        most_bytes: int = LONGEST_BODY,
        body_media: str = JSON,
        idempotent: bool = False,
        problems: Mapping[int, str] | None = None,
    ) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            hints = get_type_hints(handler, include_extras=True)
            self.endpoints.append(
                Endpoint(
                    handler=handler,
                    method=method,
                    path=path,
                    route=route or path.rpartition("/")[2],
                    tag=self.tag,
                    scope=scope,
                    needs=needs,
                    in_brief=in_brief,
                    status=status,
                    most_bytes=most_bytes,
                    body_media=body_media,
                    idempotent=idempotent,
                    problems=problems or {},
                    query=hints.get("query"),
                    body=hints.get("body") if body_media == JSON else None,
                    answer=_described(hints["return"]),
                )
            )
            return handler

        return add


def like(model: type[BaseModel]) -> WithJsonSchema:
    """Annotates what is described as `model` and passed on as it is."""
    return WithJsonSchema({LIKE: model.__name__})


def _described(hint: Any) -> type[BaseModel] | Media:
    """The model itself, or the one beside a type that is sent as it is."""
    found: type[BaseModel] | Media = next(iter(get_args(hint)[1:]), hint)
    return found
