"""Environments behind the HTTP protocol, with the reference server and a real connection."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from gymnasium.utils.env_checker import check_env

from engine.environments import make_environment
from engine.environments.base import Environment
from engine.environments.checker import check_environment
from engine.environments.problems import reset_in_split
from engine.environments.remote import protocol
from engine.environments.remote.server import EnvironmentServer
from engine.errors import EnvironmentUnavailable
from tests.engine.environments.broken import PaysNothingKnown, Raises


@contextmanager
def serving(kind: str = "frozen_lake", *, make: Any = None, **options: Any) -> Iterator[EnvironmentServer]:
    server = EnvironmentServer(make or (lambda: make_environment(kind)), **options)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def remote(server: EnvironmentServer, **parameters: Any) -> Environment:
    return make_environment("http", url=server.address, retry_seconds=0.5, **parameters)


def ask(server: EnvironmentServer, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    data = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
    request = urllib.request.Request(server.address + path, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


@pytest.mark.parametrize("kind", ["frozen_lake", "sokoban", "bandit"])
def test_a_remote_environment_keeps_both_contracts(kind: str) -> None:
    with serving(kind) as server:
        assert check_environment("http", {"url": server.address}, range(3)) == []
        check_env(remote(server), skip_render_check=True)


def test_it_is_the_environment_itself_step_by_step() -> None:
    with serving() as server:
        far, near = remote(server), make_environment("frozen_lake")
        for split in ("train", "held_out"):
            there = reset_in_split(far, seed=11, split=split)  # type: ignore[arg-type]
            here = reset_in_split(near, seed=11, split=split)  # type: ignore[arg-type]
            assert (there.observation, there.seed) == (here.observation, here.seed)
            assert far.solution() == [near.name_of(action) for action in near.solution() or []]  # type: ignore[union-attr]
            for action in near.solution() or []:  # type: ignore[union-attr]
                assert far.step(action) == near.step(action)
                assert far.drawing() == near.drawing()


def test_an_episode_is_ended_on_the_server_when_it_is_closed() -> None:
    with serving() as server:
        environment = remote(server)
        environment.reset(seed=1)
        environment.reset(seed=2)
        assert len(server.episodes.served) == 1
        environment.close()
        assert server.episodes.served == {}


def test_a_repeated_step_is_answered_again_and_not_played_twice() -> None:
    with serving() as server:
        _, begun = ask(server, "POST", "/v1/episodes", {"seed": 3, "chance_seed": 3})
        path = f"/v1/episodes/{begun['episode']}/steps"
        name = begun["solution"][0]
        first = ask(server, "POST", path, {"index": 0, "action": name})
        assert first[0] == 200
        assert ask(server, "POST", path, {"index": 0, "action": name}) == first
        status, answer = ask(server, "POST", path, {"index": 2, "action": name})
        assert (status, answer["error"]["message"]) == (409, "The episode has taken 1 steps, and this is step 2.")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        ("POST", "/v1/episodes", {"seed": -1, "chance_seed": 0}, 400, "seed: Input should be greater than or equal"),
        ("POST", "/v1/episodes", b"{", 400, "body: Invalid JSON"),
        ("POST", "/v1/episodes/none/steps", {"index": 0, "action": "Up"}, 404, "There is no episode 'none'"),
        ("GET", "/v2/environment", None, 404, "There is nothing at GET /v2/environment"),
        ("POST", "/v1/episodes", b"1" * 201, 413, "A message may have at most 200 bytes, got 201"),
    ],
)
def test_a_bad_request_is_refused_with_the_reason(
    method: str, path: str, body: Any, status: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "MOST_BYTES", 200)
    with serving() as server:
        found, answer = ask(server, method, path, body)
    assert found == status
    assert message in answer["error"]["message"]


def test_an_unknown_action_is_refused_and_the_episode_goes_on() -> None:
    with serving() as server:
        _, begun = ask(server, "POST", "/v1/episodes", {"seed": 3, "chance_seed": 3})
        path = f"/v1/episodes/{begun['episode']}/steps"
        status, answer = ask(server, "POST", path, {"index": 0, "action": "Fly"})
        assert (status, answer["error"]["kind"]) == (400, "unknown_action")
        assert ask(server, "POST", path, {"index": 0, "action": begun["solution"][0]})[0] == 200


def test_episodes_are_limited_in_number_and_idle_ones_expire() -> None:
    with serving(most_episodes=2, idle_seconds=0.05) as server:
        start = {"seed": 1, "chance_seed": 1}
        assert [ask(server, "POST", "/v1/episodes", start)[0] for _ in range(3)] == [201, 201, 429]
        threading.Event().wait(0.1)
        assert ask(server, "POST", "/v1/episodes", start)[0] == 201
        assert len(server.episodes.served) == 1


def test_a_server_with_a_token_takes_nothing_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(protocol.TOKEN_VARIABLE, raising=False)
    with serving(token="secret") as server:
        with pytest.raises(EnvironmentUnavailable, match=f"Set {protocol.TOKEN_VARIABLE}"):
            remote(server)
        monkeypatch.setenv(protocol.TOKEN_VARIABLE, "secret")
        assert remote(server).reset(seed=1)[0]


def test_an_environment_that_raises_there_raises_here_with_its_error() -> None:
    with serving(make=lambda: Raises(Raises.Config())) as server:
        environment = remote(server)
        environment.reset(seed=1)
        with pytest.raises(Exception, match="500: OSError: the ice broke"):
            environment.step(0)


def test_an_answer_outside_the_protocol_is_named() -> None:
    with serving(make=lambda: PaysNothingKnown(PaysNothingKnown.Config())) as server:
        environment = remote(server)
        environment.reset(seed=1)
        with pytest.raises(Exception, match="its answer does not follow the protocol: reward"):  # NaN has no JSON
            environment.step(0)


@contextmanager
def command(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of `serve-environment`, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "engine", "serve-environment", *arguments, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, protocol.TOKEN_VARIABLE: ""},
        preexec_fn=hear_interrupts,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield process, found[0]
    finally:
        process.kill()
        process.wait(10)


def hear_interrupts() -> None:
    """A shell starts what runs in the background with SIGINT ignored, which children inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_the_command_serves_a_kind_with_its_parameters_until_it_is_interrupted() -> None:
    with command("frozen_lake", "--set", "size=3") as (process, address):
        environment = make_environment("http", url=address)
        assert len(environment.reset(seed=1)[0].splitlines()) == 3
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_a_server_that_dies_makes_the_environment_unavailable() -> None:
    with command("frozen_lake") as (process, address):
        environment = make_environment("http", url=address, retry_seconds=0.5)
        environment.reset(seed=1)
        process.kill()
        process.wait(10)
        with pytest.raises(EnvironmentUnavailable, match=r"cannot be reached.*Start it, or correct parameters\.url"):
            environment.step(0)
