"""A configuration, and an evaluation at a shell or in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import RunConfig, build_config
from engine.evaluation.evaluation import Outcome, Plan, evaluate
from engine.evaluation.models import EndpointModel
from engine.policies.api_key import ApiKey, key_from_environment
from engine.policies.chat_endpoint import ChatEndpoint, EndpointSettings
from tests.engine.evaluation.chat_server import ChatServer

KEY = "sk-test-4f9c/never+shown=="
KEY_NAME = "STARBOARD_TEST_KEY"
LAKE = "threads = 1\n[[environments]]\nkind = 'frozen_lake'\nmax_turns = 3\nmax_actions = 6\n"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    path = tmp_path / "lake.toml"
    path.write_text(LAKE)
    return path


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv(KEY_NAME, KEY)
    yield KEY


def lake_config(**rollout: object) -> RunConfig:
    return build_config(
        {"environments": [{"kind": "frozen_lake", "max_turns": 3, "max_actions": 6}], "rollout": rollout}
    )


def evaluate_at(
    server: ChatServer,
    *,
    episodes: int = 6,
    samples: int = 1,
    temperature: float = 1.0,
    concurrency: int = 4,
    keyed: bool = True,
    config: RunConfig | None = None,
    **settings: float,
) -> Outcome:
    """An evaluation through the endpoint, with retries that take milliseconds."""
    config = config or lake_config()
    patience = EndpointSettings(url=server.address, model="moves", **{"backoff": 0.01, "retries": 3, **settings})  # type: ignore[arg-type]
    endpoint = ChatEndpoint(patience, key_from_environment(KEY_NAME) if keyed else ApiKey(), concurrency=concurrency)
    model_under_test = EndpointModel(config, endpoint, concurrency=concurrency)
    plan = Plan(
        environments=config.environments,
        seeds=list(range(1_000_000_000, 1_000_000_000 + episodes)),
        samples=samples,
        temperatures=[temperature],
    )
    try:
        return evaluate(config, model_under_test, plan)
    finally:
        model_under_test.close()
