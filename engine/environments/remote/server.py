"""`python -m engine serve-environment KIND`: the reference server of the environment protocol.

It serves any registered kind from the standard library's HTTP server, one thread for each connection. Episodes that
nobody steps expire; their number, the size of messages and the time of a request are bounded.
"""

from __future__ import annotations

import argparse
import hmac
import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import ValidationError

from engine.environments.base import UNKNOWN, Environment
from engine.environments.remote import protocol
from engine.environments.remote.protocol import About, Action, Begun, Start, State, Stepped

SECONDS_TO_READ = 30


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message


@dataclass(slots=True)
class Served:
    """One episode. `last` is the answer to the step before, for a request that is repeated."""

    environment: Environment
    lock: threading.Lock = field(default_factory=threading.Lock)
    steps: int = 0
    over: bool = False
    last: Stepped | None = None
    used: float = field(default_factory=time.monotonic)


class Episodes:
    """The episodes of one server."""

    def __init__(self, make: Callable[[], Environment], *, most: int, idle_seconds: float) -> None:
        self.make, self.most, self.idle_seconds = make, most, idle_seconds
        self.lock = threading.Lock()
        self.served: dict[str, Served] = {}

    def about(self) -> About:
        environment = self.make()
        environment.reset(seed=0)
        try:
            return About(
                title=environment.title,
                instruction=environment.default_instruction,
                legend=environment.describe(),
                separator=environment.separator,
                answer_form=environment.answer_form,
                split_by=environment.split_by,
                info_metrics=dict(environment.info_metrics),
            )
        finally:
            environment.close()

    def begin(self, start: Start) -> Begun:
        self._drop_idle()
        environment = self.make()
        observation, _ = environment.reset(
            seed=start.seed, options={"chance_seed": start.chance_seed, "split": start.split}
        )
        name = secrets.token_urlsafe(12)
        with self.lock:
            if len(self.served) >= self.most:
                environment.close()
                raise Refused(429, "too_many_episodes", f"{self.most} episodes are in progress.")
            self.served[name] = Served(environment)
        return Begun(
            episode=name,
            problem=environment.problem(),
            state=_state(environment, observation),
            solution=_solution(environment),
        )

    def step(self, name: str, action: Action) -> Stepped:
        served = self._find(name)
        with served.lock:
            served.used = time.monotonic()
            if action.index == served.steps - 1 and served.last is not None:
                return served.last
            if served.over or action.index != served.steps:
                what = "is over" if served.over else f"has taken {served.steps} steps, and this is step {action.index}"
                raise Refused(409, "out_of_order", f"The episode {what}.")
            served.last = _step(served.environment, action.action)
            served.steps += 1
            served.over = served.last.terminated or served.last.truncated
            return served.last

    def end(self, name: str) -> None:
        with self.lock:
            served = self.served.pop(name, None)
        if served is not None:
            served.environment.close()

    def close(self) -> None:
        for name in list(self.served):
            self.end(name)

    def _find(self, name: str) -> Served:
        with self.lock:
            if name in self.served:
                return self.served[name]
        raise Refused(404, "no_such_episode", f"There is no episode {name!r}; it ended or expired.")

    def _drop_idle(self) -> None:
        limit = time.monotonic() - self.idle_seconds
        with self.lock:
            idle = [name for name, served in self.served.items() if served.used < limit]
        for name in idle:
            self.end(name)


def _state(environment: Environment, observation: str) -> State:
    return State(observation=observation, actions=environment.action_names(), drawing=environment.drawing())


def _solution(environment: Environment) -> Any:
    found = environment.solution()
    if found is None:
        return None
    return "unknown" if found is UNKNOWN else [environment.name_of(action) for action in found]


def _step(environment: Environment, text: str) -> Stepped:
    action = environment.resolve(text)
    if action is None:
        raise Refused(400, "unknown_action", f"{text[:100]!r} is not an action of this state.")
    observation, reward, terminated, truncated, info = environment.step(action)
    return Stepped(
        state=_state(environment, observation),
        reward=float(reward),
        terminated=terminated,
        truncated=truncated,
        info={key: value for key, value in info.items() if isinstance(value, bool | int | float | str)},
    )


class Handler(BaseHTTPRequestHandler):
    """One connection. The server that made it has `episodes` and `token`."""

    protocol_version = "HTTP/1.1"
    timeout = SECONDS_TO_READ
    wbufsize = 2**16  # head and body in one packet: two would wait 40 ms for an acknowledgement
    disable_nagle_algorithm = True
    server: EnvironmentServer

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_DELETE(self) -> None:
        self._answer(self._delete)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a line for each step would be most of the output."""

    def _get(self, path: tuple[str, ...]) -> tuple[int, Any]:
        if path == ("v1", "environment"):
            return 200, self.server.episodes.about()
        raise KeyError(path)

    def _post(self, path: tuple[str, ...]) -> tuple[int, Any]:
        match path:
            case ("v1", "episodes"):
                return 201, self.server.episodes.begin(Start.model_validate_json(self._body()))
            case ("v1", "episodes", name, "steps"):
                return 200, self.server.episodes.step(name, Action.model_validate_json(self._body()))
        raise KeyError(path)

    def _delete(self, path: tuple[str, ...]) -> tuple[int, Any]:
        match path:
            case ("v1", "episodes", name):
                self.server.episodes.end(name)
                return 204, None
        raise KeyError(path)

    def _answer(self, handle: Callable[[tuple[str, ...]], tuple[int, Any]]) -> None:
        try:
            self._check_token()
            status, message = handle(tuple(part for part in self.path.split("/") if part))
            body = b"" if message is None else message.model_dump_json().encode()
        except Refused as refused:
            status, body = refused.status, _error(refused.kind, refused.message)
        except KeyError:
            status, body = 404, _error("no_such_address", f"There is nothing at {self.command} {self.path}.")
        except ValidationError as error:
            first = error.errors()[0]
            field_name = ".".join(str(part) for part in first["loc"])
            status, body = 400, _error("bad_request", f"{field_name or 'body'}: {first['msg']}")
        except Exception as error:  # the environment may raise anything
            status, body = 500, _error("environment_raised", f"{type(error).__name__}: {error}")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _check_token(self) -> None:
        token = self.server.token
        given = self.headers.get("Authorization", "")
        if token and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            raise Refused(401, "unauthorized", "The server needs a bearer token, and the one sent is missing or wrong.")

    def _body(self) -> bytes:
        length = int(self.headers.get("Content-Length") or 0)
        if length > protocol.MOST_BYTES:
            self.close_connection = True
            raise Refused(413, "too_large", f"A message may have at most {protocol.MOST_BYTES} bytes, got {length}.")
        return self.rfile.read(length)


class EnvironmentServer(ThreadingHTTPServer):
    """Serves episodes of what `make` returns at `host:port`; port 0 takes a free one."""

    daemon_threads = True

    def __init__(
        self,
        make: Callable[[], Environment],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str = "",
        most_episodes: int = 1024,
        idle_seconds: float = 900.0,
    ) -> None:
        super().__init__((host, port), Handler)
        self.episodes = Episodes(make, most=most_episodes, idle_seconds=idle_seconds)
        self.token = token

    @property
    def address(self) -> str:
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"

    def server_close(self) -> None:
        super().server_close()
        self.episodes.close()


def _error(kind: str, message: str) -> bytes:
    return json.dumps({"error": {"kind": kind, "message": message}}).encode()


def serve_main(argv: list[str]) -> int:
    from engine.config import apply_override
    from engine.environments.registry import make_environment

    parser = argparse.ArgumentParser(
        prog="python -m engine serve-environment",
        description=f"Serve an environment over HTTP. With {protocol.TOKEN_VARIABLE} set, requests need that token.",
    )
    parser.add_argument("kind", help="environment kind, such as frozen_lake")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set a parameter")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--most-episodes", type=int, default=1024, help="episodes in progress at a time")
    options = parser.parse_args(argv)
    parameters: dict[str, Any] = {}
    for override in options.set:
        apply_override(parameters, override)
    server = EnvironmentServer(
        lambda: make_environment(options.kind, **parameters),
        host=options.host,
        port=options.port,
        token=os.environ.get(protocol.TOKEN_VARIABLE, ""),
        most_episodes=options.most_episodes,
    )
    server.episodes.about()  # wrong parameters end here
    sys.stdout.write(f"{options.kind} at {server.address}\n")
    sys.stdout.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
    return 0
