"""Log lines: as text, or as one JSON object each with what they are about, such as the run and the request.

What is bound is of the current thread or task, and of those that it starts with a copy of its context.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter

FORMATS = ("text", "json")
NOTHING: Mapping[str, str] = {}

_bound: ContextVar[Mapping[str, str]] = ContextVar("log fields", default=NOTHING)


@contextmanager
def bound(**fields: str) -> Iterator[None]:
    """Log lines of the block have these fields."""
    before = _bound.set({**_bound.get(), **fields})
    try:
        yield
    finally:
        _bound.reset(before)


def bind(**fields: str) -> None:
    """As `bound`, until the block around it ends."""
    _bound.set({**_bound.get(), **fields})


def bound_field(name: str) -> str:
    """Empty if it is not bound."""
    return _bound.get().get(name, "")


class JsonLines(JsonFormatter):
    """time (UTC), level, logger, message, process, what is bound, and exc_info with the traceback of an exception."""

    def __init__(self) -> None:
        super().__init__(["message"], json_ensure_ascii=False)

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        log_data["time"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        log_data["level"] = record.levelname
        log_data["logger"] = record.name
        log_data["message"] = record.getMessage()
        log_data["process"] = record.process
        log_data.update(_bound.get())
        if record.exc_info:
            log_data["exc_info"] = self.formatException(record.exc_info)
