"""Who reads. Set where a request, a socket or a public link comes in, as Django sets the language and the time zone.

What reads rows of projects (`access.readable`) asks here, so that no page has to remember to. Without a reader, as in
workers and commands, everything is read; every request has one, and an anonymous reader reads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.contrib.auth.models import AnonymousUser, User

Reader = User | AnonymousUser | None

# a function, since the user of a request is read from the database when it is first asked for, and whoever copies the
# context must not do that
_reader: ContextVar[Callable[[], Reader]] = ContextVar("reader", default=lambda: None)


def reader() -> Reader:
    return _reader.get()()


def set_reader(find: Callable[[], Reader]) -> None:
    """For the rest of the request or socket, whose context ends with it."""
    _reader.set(find)


@contextmanager
def reading_as(user: Reader) -> Iterator[None]:
    token = _reader.set(lambda: user)
    try:
        yield
    finally:
        _reader.reset(token)
