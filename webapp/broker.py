"""Sends tasks to workers. Rows say what is to be done, so a task that cannot be sent only delays it."""

from __future__ import annotations

import logging
from typing import Any

from kombu.exceptions import OperationalError

from workers.app import app

log = logging.getLogger(__name__)


def send_task(task: str, *arguments: Any, otherwise: str, **options: Any) -> bool:
    """False, with a warning that begins with `otherwise`, if the broker cannot be reached."""
    try:
        app.signature(task, args=arguments).apply_async(retry=False, **options)
    except (OperationalError, OSError) as error:
        log.warning("%s, the broker cannot be reached: %s", otherwise, error)
        return False
    return True
