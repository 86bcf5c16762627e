"""Outcomes of evaluations are files of their own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def data_dir(settings: Settings, tmp_path: Path) -> None:
    settings.STARBOARD_DATA_DIR = tmp_path
