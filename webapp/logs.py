"""Log lines: as text, or as one JSON object each with what they are about, such as the run and the request.

What is bound is of the current thread or task, and of those that it starts with a copy of its context.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter

FORMATS = ("text", "json")
PLAIN = re.compile(r"[\w.-]+", re.ASCII)
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


class TextLines(logging.Formatter):
    """time, level, logger and message, and at the end what is bound: `[request_id=… run_id=…]`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={_one_word(value)}" for name, value in _bound.get().items())
        return super().formatMessage(record) + (f" [{fields}]" if fields else "")


def _one_word(value: str) -> str:
    """Quoted where it is none: a part of a URL must not look like another line."""
    return value if PLAIN.fullmatch(value) else json.dumps(value)


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
