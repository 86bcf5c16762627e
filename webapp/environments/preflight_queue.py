"""Sends pre-flights to workers, which import this too: it knows no form and no model."""

from __future__ import annotations

import logging

from kombu.exceptions import OperationalError

from workers.app import PREFLIGHT, app

log = logging.getLogger(__name__)


def enqueue(pk: int) -> None:
    """Sends it to a worker. Without a broker it stays queued until a worker looks for waiting ones."""
    try:
        app.signature(PREFLIGHT, args=[pk]).apply_async(retry=False)
    except (OperationalError, OSError) as error:
        log.warning("Pre-flight %d is queued as a row only, the broker cannot be reached: %s", pk, error)
