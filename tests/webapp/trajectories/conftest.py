"""A run with two recorded steps of 4 groups x 4 members on FrozenLake."""

from __future__ import annotations

import pytest

from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from webapp.runs.models import Run
from webapp.trajectories.models import Trajectory


@pytest.fixture
def run(db: None) -> Run:
    return build_run()


@pytest.fixture
def rows(run: Run) -> list[Trajectory]:
    record_steps(run, run.parsed_config().environments[0], steps=range(1, 3))
    return list(Trajectory.objects.filter(run=run).order_by("step", "group", "member"))
