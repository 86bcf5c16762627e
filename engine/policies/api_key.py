"""The API key of an endpoint: read from the environment, never printed, redacted from responses."""

from __future__ import annotations

import os
import re

from engine.errors import ConfigError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
HIDDEN = "[key]"


class ApiKey:
    """Prints as `ApiKey(hidden)`, refuses to be pickled, and reveals its value only in `headers`."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def redact(self, text: str) -> str:
        """`text` without the key, which servers may repeat in their errors."""
        return text.replace(self._value, HIDDEN) if self._value else text

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "ApiKey(hidden)" if self._value else "ApiKey(none)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("An API key must not be pickled.")


def key_from_environment(name: str | None) -> ApiKey:
    """The key in the environment variable `name`, or no key for None. Errors never repeat `name`: it may be the key by
    mistake."""
    if name is None:
        return ApiKey()
    value = os.environ.get(name, "").strip() if _NAME.fullmatch(name) else ""
    if not value:
        raise ConfigError(
            "The environment variable named for the API key is not set or is empty.",
            remedy="Set a variable to the key, and give the variable's name, such as OPENAI_API_KEY.",
        )
    if not value.isascii() or not value.isprintable() or " " in value:
        raise ConfigError(
            "The API key has characters that are not allowed in an HTTP header.",
            remedy="Check for spaces, line breaks or quotation marks around it.",
        )
    return ApiKey(value)
