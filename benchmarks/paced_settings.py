"""The product's settings, with an engine that trains nothing: its runs write events at the pace that they ask for."""

from __future__ import annotations

import sys
from pathlib import Path

from webapp.settings import *  # noqa: F403

STARBOARD_ENGINE_COMMAND = [sys.executable, str(Path(__file__).parents[1] / "tests/workers/stand_in_engine.py")]
