"""Parses the body of a chat endpoint's HTTP response: a message, or the reason there is none. No network here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|(?:prompt|input) is too long|too many (?:input )?tokens", re.I
)
MESSAGE_LENGTH = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResponse:
    """One sampled message. Token counts are None if the endpoint reports none. `ended` is False if it was cut off."""

    content: str
    reasoning: str
    ended: bool
    prompt_tokens: int | None
    response_tokens: int | None


class NotJson(Exception):
    """The body is not a JSON object."""


class NotChatCompletion(Exception):
    """The body is a JSON object, but not a chat completion; the message says what is missing."""


def read_object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise NotJson from None
    if not isinstance(data, dict):
        raise NotJson
    return data


def read_response(data: dict[str, Any]) -> ChatResponse:
    """The first choice of a chat completion."""
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise NotChatCompletion("no `choices`")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise NotChatCompletion("no `message` in the first choice")
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        raise NotChatCompletion("a `content` that is not text")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    usage = data.get("usage")
    return ChatResponse(
        content=content or "",
        reasoning=reasoning if isinstance(reasoning, str) else "",
        ended=choices[0].get("finish_reason") != "length",
        prompt_tokens=_count(usage, "prompt_tokens"),
        response_tokens=_count(usage, "completion_tokens"),
    )


def read_problem(body: bytes) -> dict[str, Any]:
    """`message`, `code` and `param` of an error body; if it has another form, all of it is the message."""
    try:
        data = read_object(body)
    except NotJson:
        return {"message": body.decode(errors="replace").strip()}
    problem = data.get("error", data)
    if isinstance(problem, str):
        return {"message": problem}
    if not isinstance(problem, dict):
        return {"message": ""}
    return {**problem, "message": str(problem.get("message") or problem.get("detail") or "")}


def is_context_error(problem: dict[str, Any]) -> bool:
    """Whether the error is that the conversation exceeds the model's context."""
    return problem.get("code") == "context_length_exceeded" or bool(_TOO_LONG.search(problem["message"]))


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
