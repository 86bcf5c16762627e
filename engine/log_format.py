"""Lines of an engine's log: `2026-11-22T21:04:05.123Z WARNING text`. The page of a run reads time and level."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime


def stamped(level: str, text: str, *, at: float | None = None) -> str:
    """`at` is in seconds since the epoch; now if it is not given."""
    moment = datetime.fromtimestamp(time.time() if at is None else at, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z {level} {text}"


class StampedFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return stamped(record.levelname, f"{record.name}: {super().format(record)}", at=record.created)


def log_to_standard_error() -> None:
    """Messages and warnings of libraries too."""
    handler = logging.StreamHandler()
    handler.setFormatter(StampedFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.captureWarnings(capture=True)
