"""The product's settings with the tests' database, runs and engine, for workers in processes of their own."""

from __future__ import annotations

import json
import os

from webapp.settings import *  # noqa: F403
from webapp.settings import DATABASES

_given = json.loads(os.environ["STARBOARD_TEST_SETTINGS"])
DATABASES["default"]["NAME"] = _given.pop("database")
globals().update(_given)
