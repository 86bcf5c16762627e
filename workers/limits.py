"""How long supervision waits for what. Settings may change single numbers in `STARBOARD_LIMITS`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All in seconds."""

    lease: float = 30.0
    renew: float = 10.0
    poll: float = 0.1  # from round to round
    glance: float = 0.02  # at the size of events.jsonl
    obey: float = 0.5  # of the row's requests
    judge: float = 5.0
    silent: float = 60.0  # without a beat: twelve beats of the engine
    stalled: float = 300.0  # without progress, or ten median steps if that is longer
    starting: float = 600.0  # from start to the first event; loading a large model takes minutes
    stop_grace: float = 120.0  # from asking an engine to stop to SIGTERM
    finish_grace: float = 1800.0  # the same for one that is heard to be in an update, or to save a large model
    term_grace: float = 15.0  # from SIGTERM to SIGKILL
    exit_grace: float = 30.0  # from an engine's last event to its exit
    sweep: float = 60.0  # until a process that survives SIGKILL is reported
    restart_pauses: Sequence[float] = (5.0, 20.0, 60.0)  # before each restart after a fault; the last for all further


def current_limits() -> Limits:
    return Limits(**getattr(settings, "STARBOARD_LIMITS", {}))
