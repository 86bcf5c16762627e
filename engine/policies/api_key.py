"""The key of an endpoint: read from the environment, shown to nobody, cut out of whatever comes back."""

from __future__ import annotations

import os
import re

from engine.errors import ConfigError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
HIDDEN = "[key]"


class ApiKey:
    """Prints as `ApiKey(hidden)`, pickles not at all, and gives its value to `headers` alone."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def redact(self, text: str) -> str:
        """`text` without the key: servers put what they were sent into their errors."""
        return text.replace(self._value, HIDDEN) if self._value else text

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "ApiKey(hidden)" if self._value else "ApiKey(none)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A key is not written anywhere.")


def key_from_environment(name: str | None) -> ApiKey:
    """The key in the variable `name`; no key for no name. Errors never repeat `name`: it may be the key by mistake."""
    if name is None:
        return ApiKey()
    value = os.environ.get(name, "").strip() if _NAME.fullmatch(name) else ""
    if not value:
        raise ConfigError(
            "--key-env names no environment variable that holds a key.",
            remedy="Put the key into a variable, and give the variable's name: --key-env OPENAI_API_KEY.",
        )
    if not value.isascii() or not value.isprintable() or " " in value:
        raise ConfigError(
            "The key that --key-env names has characters that no HTTP header may hold.",
            remedy="Look for blanks, line breaks or quotation marks around it.",
        )
    return ApiKey(value)
