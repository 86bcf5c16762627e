"""Queries and bodies as checked models; raises `Problem` with what is allowed."""

from __future__ import annotations

import json
import zlib
from typing import Any

from django.http import HttpRequest
from pydantic import ValidationError

from webapp.api.endpoints import Endpoint, Fields
from webapp.api.problems import Problem, invalid_fields, reasons
from webapp.api.storable import unstorable


def query_of(request: HttpRequest, model: type[Fields]) -> Fields:
    repeated = {key: values for key, values in request.GET.lists() if len(values) > 1}
    for key, values in repeated.items():
        raise Problem(400, f"{key[:60]} was sent {len(values)} times", "Send it once.")
    try:
        return model.model_validate(request.GET.dict())
    except ValidationError as error:
        found = reasons(error, model)
        sentences = " ".join(f"{name[:60]}: {reason}".removeprefix(": ") for name, reason in found.items())
        raise Problem(400, "The query is not valid", sentences) from None


def body_of(request: HttpRequest, model: type[Fields], most: int) -> Fields:
    data = _json(raw_body(request, most), model)
    try:
        return model.model_validate_json(json.dumps(data), strict=True)  # as JSON: false is no 0, and "3" no 3
    except ValidationError as error:
        raise invalid_fields(reasons(error, model)) from None


def raw_body(request: HttpRequest, most: int) -> bytes:
    length = int(request.META.get("CONTENT_LENGTH") or 0)
    if length > most or len(request.body) > most:
        raise Problem(413, f"The body has {length:,} bytes; the limit is {most:,}", "Send less at once.")
    return request.body


def unpacked_body(request: HttpRequest, most: int, most_unpacked: int) -> bytes:
    """A body that may be compressed with gzip."""
    body = raw_body(request, most)
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise Problem(415, f"The Content-Encoding is {encoding[:20]!r}; allowed are gzip and identity", "Use gzip.")
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        found = unpacker.decompress(body, most_unpacked)
    except zlib.error:
        raise Problem(400, "The body is not gzip", "Send it as Content-Encoding says.") from None
    if unpacker.unconsumed_tail:
        raise Problem(413, f"The body unpacks to more than {most_unpacked:,} bytes", "Send less at once.")
    if not unpacker.eof:
        raise Problem(400, "The compressed body is cut off", "Send it again.")
    return found


def refuse_query(request: HttpRequest, endpoint: Endpoint) -> None:
    """For endpoints that take none."""
    if request.GET:
        given = next(iter(request.GET))[:60]
        raise Problem(400, f"Unknown query parameter {given!r}", f"{endpoint.name} has no parameters.")


def _refuse_constant(name: str) -> None:
    """NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(name)


def _json(body: bytes, model: type[Fields]) -> dict[str, Any]:
    example = json.dumps(model.model_json_schema().get("examples", [{}])[0])
    remedy = f"Send a JSON object such as {example}, as application/json."
    try:
        data = json.loads(body, parse_constant=_refuse_constant)
        refused = unstorable(data)
    except (ValueError, RecursionError):
        raise Problem(400, "The body is not JSON", remedy) from None
    if not isinstance(data, dict):
        raise Problem(400, f"The body is a JSON {type(data).__name__}, not an object", remedy)
    if refused:
        raise invalid_fields(refused)
    return data
