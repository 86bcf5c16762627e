"""A user with an e-mail address, a run that alerts, and a site that may call loopback."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from tests.builders.recorded_run import RecordedRun


@pytest.fixture
def user(db: None) -> User:
    return User.objects.create_user("ada", email="ada@example.org")


@pytest.fixture
def recorded(db: None) -> RecordedRun:
    """Twenty steps with an alert at the last of them."""
    recorded = RecordedRun(steps=60)
    recorded.take_steps(20)
    recorded.raise_alert("Entropy fell to a third of its baseline.")
    recorded.deliver()
    return recorded


@pytest.fixture
def loopback(settings: Settings) -> None:
    settings.STARBOARD_WEBHOOK_NETWORKS = ["127.0.0.0/8"]
