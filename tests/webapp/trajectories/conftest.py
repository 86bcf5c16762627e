"""A run with two recorded steps of 4 groups x 4 members on FrozenLake, and a signed-in browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from webapp.runs.models import Run
from webapp.trajectories.models import Trajectory


@pytest.fixture
def browser(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


@pytest.fixture
def run(db: None, settings: Settings, tmp_path: Path) -> Run:
    settings.RUNS_DIR = str(tmp_path / "runs")
    return build_run()


@pytest.fixture
def rows(run: Run) -> list[Trajectory]:
    record_steps(run, run.parsed_config().environments[0], steps=range(1, 3))
    return list(Trajectory.objects.filter(run=run).order_by("step", "group", "member"))
