"""A Django view for each path: checks method, token, limits and parameters, calls the endpoint, sends its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from pydantic import BaseModel

from webapp.accounts.token_middleware import token_of
from webapp.api.endpoints import Call, Endpoint
from webapp.api.idempotency import once
from webapp.api.limits import Allowance, spend
from webapp.api.parameters import body_of, query_of, raw_body, refuse_query
from webapp.api.path_rows import PATH_ROWS
from webapp.api.problems import Problem
from webapp.projects.access import RoleNeeded, require


class PathView:
    """The endpoints of one path, by method."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self.endpoints = {endpoint.method: endpoint for endpoint in endpoints}

    def __call__(self, request: HttpRequest, **parts: Any) -> HttpResponseBase:
        allowance: Allowance | None = None
        try:
            endpoint = self._endpoint(request)
            call = Call(request=request, user=cast(User, request.user), token=token_of(request))
            if call.token is not None:
                _check_scope(call, endpoint)
                allowance = spend(call.token, endpoint.scope)
            answer = _answered(call, endpoint, parts)
        except Problem as problem:
            answer = problem.answer()
        except RoleNeeded as refused:
            answer = Problem(403, refused.heading, refused.remedy).answer()
        if allowance is not None:
            allowance.write_to(answer)
        return answer

    def _endpoint(self, request: HttpRequest) -> Endpoint:
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method not in self.endpoints:
            allowed = [one for name in self.endpoints for one in ((name, "HEAD") if name == "GET" else (name,))]
            raise Problem(
                405,
                f"Method {request.method} is not allowed",
                f"Use {' or '.join(allowed)}.",
                headers={"Allow": ", ".join(allowed)},
            )
        return self.endpoints[method]


def _check_scope(call: Call, endpoint: Endpoint) -> None:
    if call.token is not None and endpoint.scope not in call.token.scopes:
        has = ", ".join(call.token.scopes) or "none"
        raise Problem(
            403,
            f"The token {call.token.name!r} lacks the scope {endpoint.scope.value!r}; it has {has}",
            f"Create a token with the scope {endpoint.scope.value!r} on the page API tokens.",
        )


def _answered(call: Call, endpoint: Endpoint, parts: Mapping[str, Any]) -> HttpResponseBase:
    path_rows = {name: PATH_ROWS[name] for name in endpoint.rows}
    rows = {one.parameter: one.row(parts[name], in_brief=endpoint.in_brief) for name, one in path_rows.items()}
    for row in rows.values():
        require(row, endpoint.needs)
    values: dict[str, Any] = {"call": call, **rows, **{name: parts[name] for name in endpoint.numbers}}
    if endpoint.query is None:
        refuse_query(call.request, endpoint)
    else:
        values["query"] = query_of(call.request, endpoint.query)
    if endpoint.body is not None:
        values["body"] = body_of(call.request, endpoint.body, endpoint.most_bytes)
    elif endpoint.method == "POST":
        raw_body(call.request, endpoint.most_bytes)
    if endpoint.idempotent:
        return once(call, endpoint, lambda: _sent(endpoint, endpoint.handler(**values)))
    return _sent(endpoint, endpoint.handler(**values))


def _sent(endpoint: Endpoint, answer: Any) -> HttpResponseBase:
    if isinstance(answer, HttpResponseBase):
        return answer
    data = answer.model_dump(mode="json", by_alias=True) if isinstance(answer, BaseModel) else answer
    return JsonResponse(data, status=endpoint.status)
