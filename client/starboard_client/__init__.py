"""Runs of a Starboard site, from Python and from a shell.

>>> from starboard_client import Starboard
>>> with Starboard() as starboard:
...     run = starboard.launch(preset="starter", overrides={"steps": 20})

>>> import starboard_client as starboard
>>> starboard.init("lakes", config={"lr": 1e-6})
>>> starboard.log({"reward/mean": 0.5})
>>> starboard.finish()
"""

from __future__ import annotations

from starboard_client.client import Starboard
from starboard_client.current import finish, init, log
from starboard_client.errors import (
    ApiError,
    AuthenticationError,
    Conflict,
    Invalid,
    NotFound,
    RateLimited,
    StarboardError,
    Unreachable,
)
from starboard_client.models import (
    Alert,
    Evaluation,
    Launched,
    LogPiece,
    MetricColumns,
    Preset,
    Received,
    RecordProblem,
    Run,
    RunDetail,
    Trajectory,
)
from starboard_client.recorder import Recorder
from starboard_client.sweep_models import Sweep, SweepDetail, SweepPlan

__all__ = [
    "Alert",
    "ApiError",
    "AuthenticationError",
    "Conflict",
    "Evaluation",
    "Invalid",
    "Launched",
    "LogPiece",
    "MetricColumns",
    "NotFound",
    "Preset",
    "RateLimited",
    "Received",
    "RecordProblem",
    "Recorder",
    "Run",
    "RunDetail",
    "Starboard",
    "StarboardError",
    "Sweep",
    "SweepDetail",
    "SweepPlan",
    "Trajectory",
    "Unreachable",
    "finish",
    "init",
    "log",
]
