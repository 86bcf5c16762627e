"""The recorded run of the trajectory tests."""

from __future__ import annotations

from tests.webapp.trajectories.conftest import browser, rows, run

__all__ = ["browser", "rows", "run"]
