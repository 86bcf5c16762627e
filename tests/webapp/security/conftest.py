"""A small world for each test, with its runs in a directory of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from tests.webapp.world import World, make_world


@pytest.fixture
def world(db: None, settings: Settings, tmp_path: Path) -> World:
    settings.RUNS_DIR = str(tmp_path / "runs")
    return make_world()
