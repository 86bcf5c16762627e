"""Parses query strings: only known parameters, each given once and within its range. Raises `BadQuery` otherwise."""

from __future__ import annotations

from collections.abc import Collection

from django.http import HttpRequest


class BadQuery(Exception):
    """The message says what was sent and what is allowed."""


class Query:
    """The query of a request, which may only have the parameters `allowed`."""

    def __init__(self, request: HttpRequest, allowed: Collection[str]) -> None:
        self.values: dict[str, str] = {}
        for key, given in request.GET.lists():
            if key not in allowed:
                raise BadQuery(f"Unknown query parameter {key[:60]!r}. {_list_of(allowed)}")
            if len(given) != 1:
                raise BadQuery(f"{key} was sent {len(given)} times. Send it once.")
            self.values[key] = given[0]

    def integer(self, key: str, default: int, *, low: int = 0, high: int = 2**63 - 1) -> int:
        given = self.values.get(key, str(default))
        if not (given.isascii() and given.isdigit() and len(given) < 20 and low <= int(given) <= high):
            raise BadQuery(f"{key} is {given[:60]!r}. Send a whole number from {low} to {high}.")
        return int(given)

    def window(self) -> tuple[int, int | None]:
        """The first and last step of the range `from` to `to`, inclusive; without `to`, the last is None."""
        first = self.integer("from", 0)
        last = self.integer("to", first) if "to" in self.values else None
        if last is not None and last < first:
            raise BadQuery(f"from is {first} and to is {last}. Send the smaller step as from.")
        return first, last

    def comma_separated(self, key: str, *, most: int) -> list[str]:
        """A comma-separated list without duplicates."""
        found = list(dict.fromkeys(word for word in self.values.get(key, "").split(",") if word))
        if len(found) > most:
            raise BadQuery(f"{key} has {len(found)} entries. Send at most {most}.")
        return found

    def choice(self, key: str, options: Collection[str]) -> str | None:
        given = self.values.get(key)
        if given is not None and given not in options:
            raise BadQuery(f"{key} is {given[:60]!r}. Send one of {', '.join(options)}.")
        return given


def _list_of(allowed: Collection[str]) -> str:
    return f"Allowed: {', '.join(sorted(allowed))}." if allowed else "There are no parameters."
