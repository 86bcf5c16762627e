"""OpenEnv servers over their WebSocket."""

from __future__ import annotations

import time

import pytest

from engine.environments import make_environment
from engine.environments.checker import check_environment
from engine.environments.remote.openenv import OpenEnvError
from engine.errors import EnvironmentUnavailable
from tests.engine.environments.openenv_server import TWO_FIELDS, counting


def test_a_server_keeps_the_contract() -> None:
    with counting() as (url, _):
        assert check_environment("openenv", {"url": url}, range(3)) == []


def test_a_response_becomes_the_only_field_of_the_action_and_success_is_the_last_reward() -> None:
    with counting() as (url, _):
        environment = make_environment("openenv", url=url)
        assert environment.reset(seed=4)[0] == "count to 3"  # 2 + 4 % 3
        assert environment.describe() == "An action is text."
        outcomes = [environment.step(f"number {index}") for index in range(3)]
        assert [one[:3] for one in outcomes] == [("1 of 3", 0.0, False), ("2 of 3", 0.0, False), ("3 of 3", 1.0, True)]
        assert [one[4]["success"] for one in outcomes] == [False, False, True]


def test_with_several_fields_a_response_is_a_json_object_and_anything_else_is_invalid() -> None:
    with counting(schema=TWO_FIELDS) as (url, _):
        environment = make_environment("openenv", url=url)
        environment.reset(seed=0)
        assert environment.describe() == "An action is a JSON object with tool, count."
        assert environment.step('{"tool": "add", "count": 1}')[0] == "1 of 2"
        for text in ("add one", "[1]", '{"other": 1}'):
            observation, reward, *ends, info = environment.step(text)
            assert (observation, reward, ends, info["action_is_valid"]) == ("1 of 2", 0.0, [False, False], False)


def test_an_error_of_the_environment_is_raised_with_its_code() -> None:
    with counting() as (url, _):
        environment = make_environment("openenv", url=url)
        environment.reset(seed=0)
        with pytest.raises(OpenEnvError, match="EXECUTION_ERROR: it broke"):
            environment.step("raise")


def test_a_full_server_is_waited_for_and_then_unavailable() -> None:
    with counting(capacity=1) as (url, _):
        first = make_environment("openenv", url=url)
        first.reset(seed=0)
        second = make_environment("openenv", url=url, retry_seconds=0.5)
        with pytest.raises(EnvironmentUnavailable, match=r"server at capacity.*allow it more episodes"):
            second.reset(seed=0)
        first.close()
        assert second.reset(seed=0)[0] == "count to 2"


def test_closing_ends_the_session_on_the_server() -> None:
    with counting() as (url, sessions):
        environment = make_environment("openenv", url=url)
        environment.reset(seed=0)
        environment.reset(seed=1)
        assert sessions.open == 1
        environment.close()
        deadline = time.monotonic() + 5
        while sessions.open and time.monotonic() < deadline:
            time.sleep(0.01)
        assert sessions.open == 0


def test_a_server_that_is_not_there_is_unavailable() -> None:
    environment = make_environment("openenv", url="http://127.0.0.1:9", retry_seconds=0.3)
    with pytest.raises(EnvironmentUnavailable, match=r"127\.0\.0\.1:9 cannot be reached"):
        environment.reset(seed=0)
