"""The settings of paced engines, with a worker that takes an engine for lost, or a lease for expired, after seconds."""

from __future__ import annotations

from benchmarks.paced_settings import *  # noqa: F403

STARBOARD_LIMITS = {"silent": 2.0, "stalled": 2.0, "assess": 0.5, "lease": 3.0, "renew": 0.5}
