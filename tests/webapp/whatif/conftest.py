"""The recorded run of the trajectory tests."""

from __future__ import annotations

from tests.webapp.trajectories.conftest import rows, run

__all__ = ["rows", "run"]
