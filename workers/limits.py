"""Timeouts and periods of supervision. The setting `STARBOARD_LIMITS` overrides single ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All in seconds."""

    lease: float = 30.0
    renew: float = 10.0
    poll: float = 0.1  # between rounds
    file_poll: float = 0.02  # between readings of the size of events.jsonl
    requests: float = 0.5  # between readings of the requests in the row
    assess: float = 5.0
    disk_full: float = 15.0  # without progress, where the disk of the run directory is full
    silent: float = 60.0  # without a heartbeat: twelve periods of the engine
    stalled: float = 300.0  # without progress, or ten median steps if that is longer
    starting: float = 600.0  # from start to the first event; loading a large model takes minutes
    stop_grace: float = 120.0  # from a stop request to SIGTERM
    finish_grace: float = 1800.0  # the same for an engine in an update, or saving a large model
    term_grace: float = 15.0  # from SIGTERM to SIGKILL
    exit_grace: float = 30.0  # from an engine's last event to its exit
    sweep: float = 60.0  # until a process that survives SIGKILL is reported
    restart_pauses: Sequence[float] = (
        5.0,
        20.0,
        60.0,
    )  # before each restart after a failure; the last for all later ones


def current_limits() -> Limits:
    return Limits(**getattr(settings, "STARBOARD_LIMITS", {}))
