"""What can go wrong between a program and the site. The text says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Mapping


class StarboardError(Exception):
    """The parent of all errors here."""


class Unreachable(StarboardError):
    """The site did not answer, also not when asked again."""


class ApiError(StarboardError):
    """The site refused the request. `errors` has the reasons by field, if fields are the reason."""

    def __init__(self, status: int, error: str, remedy: str = "", errors: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{error}. {remedy}".replace("..", ".").strip() if remedy else error)
        self.status = status
        self.error = error
        self.remedy = remedy
        self.errors = dict(errors or {})


class AuthenticationError(ApiError):
    """The token is missing, refused, or lacks a scope."""


class NotFound(ApiError):
    """There is no such run."""


class Conflict(ApiError):
    """The state of the run does not allow it."""


class Invalid(ApiError):
    """Fields of the request are wrong."""


class RateLimited(ApiError):
    """The token has made its requests of this minute, and waiting was not allowed."""


BY_STATUS: dict[int, type[ApiError]] = {
    400: Invalid,
    401: AuthenticationError,
    403: AuthenticationError,
    404: NotFound,
    409: Conflict,
    422: Invalid,
    429: RateLimited,
}
