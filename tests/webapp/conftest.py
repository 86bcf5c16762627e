"""A signed-in browser, an environment, and a directory for runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from engine.config import EnvironmentConfig
from webapp.environments.models import EnvironmentVersion
from webapp.environments.services import define


@pytest.fixture(autouse=True)
def runs_directory(settings: Settings, tmp_path: Path) -> Path:
    settings.STARBOARD_DATA_DIR = tmp_path
    settings.RUNS_DIR = tmp_path / "runs"
    return settings.RUNS_DIR


@pytest.fixture
def user(db: None) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def browser(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def lake(db: None) -> EnvironmentVersion:
    return define(name="Lake", config=EnvironmentConfig.model_validate({"kind": "frozen_lake", "tag": "Lake"}))
