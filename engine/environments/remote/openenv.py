"""An environment on an OpenEnv server, over its WebSocket.

The messages are those of OpenEnv's server (huggingface/OpenEnv, `openenv.core.env_server`): `reset` and `step` are
answered by an `observation` with its reward and whether the episode is done. Its plain HTTP routes keep no state, so
episodes of several turns need the socket.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field

from engine.environments import base
from engine.environments.base import (
    SERVER_ADDRESS,
    Drawing,
    Environment,
    EnvironmentParameters,
    Info,
    split_of,
    step_info,
)
from engine.environments.remote.protocol import MOST_BYTES
from engine.environments.spaces import AnyText
from engine.errors import EnvironmentUnavailable

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

TEXT_FIELDS = ("text", "message", "prompt", "content", "observation", "result", "echoed_message")
BACKOFF = 0.2  # seconds before the first retry; doubled for each further one


class OpenEnvParameters(EnvironmentParameters):
    url: str = Field(
        "http://127.0.0.1:8000",
        pattern=r"^(https?|wss?)://[^\s/]+(/[^\s]*)?$",
        max_length=500,
        description="Address of the server, as OpenEnv's clients take it.",
    )
    action_field: str = Field(
        "",
        max_length=100,
        description="Field of the action that a response becomes. Empty: the only text field of the server's schema; "
        "with several, responses are JSON objects.",
    )
    observation_field: str = Field(
        "",
        max_length=100,
        description="Field of the observation that the model reads. Empty: text, message, prompt, content, "
        "observation or result, whichever exists, else the whole observation as JSON.",
    )
    success_reward: float = Field(1.0, description="Minimum reward of the last step that counts as success.")
    request_seconds: float = Field(60.0, gt=0, le=3600, description="Time limit of one reset or step.")
    retry_seconds: float = Field(
        20.0, ge=0, le=3600, description="How long an unreachable or full server is retried before the run stops."
    )


class OpenEnvError(Exception):
    """The server reported an error of its environment, or broke the protocol."""


class OpenEnv(Environment):
    """An environment on an OpenEnv server.

    Description: any of the environments that are published for OpenEnv; its package is not needed.
    Actions: free text, sent as one field of the server's action, or a JSON object with all of them.
    Observations: one field of the server's observation, or all of it as JSON.
    Starting state: the server resets with our seed, if its environment takes one.
    Rewards: the server's; none counts as 0.
    Episode end: when the server is done; truncated if the observation has a field `truncated` that is true.
    Arguments: address, names of fields, limits.
    Differences from RAGEN: RAGEN has no remote environments.
    """

    kind: ClassVar[str] = "openenv"
    title: ClassVar[str] = "OpenEnv server"
    summary: ClassVar[str] = "An environment published for OpenEnv, on your own server."
    needs: ClassVar[str] = "an OpenEnv server"
    restricted: ClassVar[str] = SERVER_ADDRESS
    Config = OpenEnvParameters
    default_instruction: ClassVar[str] = "Do what the environment asks for."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 5,
        "max_actions_per_turn": 1,
        "max_actions": 5,
        "max_response_tokens": 200,
    }
    separator: ClassVar[str | None] = None
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    config: OpenEnvParameters

    def __init__(self, config: OpenEnvParameters) -> None:
        super().__init__(config)
        self.action_space = AnyText()
        self.observation_space = AnyText()
        self.socket: ClientConnection | None = None
        self.resources = ExitStack()  # the open connection
        self.text = self.first = ""
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        seed = self.seeded(seed)
        answer = self._reset({"seed": seed, "split": split_of(options)})
        self.text = self.first = self._text(answer["observation"])
        self.over = bool(answer.get("done"))
        return self.text, {}

    def step(self, action: base.Action) -> tuple[str, float, bool, bool, Info]:
        data = self._action(self.checked_text(action, over=self.over))
        answer = self._ask("step", data) if data is not None else None
        if answer is None:  # not an action for this server
            return self.text, 0.0, False, False, step_info(valid=False, effective=False, success=False)
        before, observation = self.text, answer["observation"]
        self.text = self._text(observation)
        reward = float(answer.get("reward") or 0.0)
        self.over = bool(answer.get("done"))
        truncated = self.over and isinstance(observation, dict) and observation.get("truncated") is True
        success = self.over and not truncated and reward >= self.config.success_reward
        info = step_info(effective=self.text != before, success=success)
        return self.text, reward, self.over and not truncated, truncated, info

    def action_names(self) -> None:
        return None

    def describe(self) -> str:
        fields = _action_fields(self.config)
        if self._field:
            return "An action is text."
        return f"An action is a JSON object with {', '.join(fields) or 'the fields of the environment'}."

    def render(self) -> str:
        return self.text

    def drawing(self) -> Drawing:
        return {"type": "text", "text": self.text}

    def problem(self) -> str:
        return self.first

    def close(self) -> None:
        if self.socket is not None:
            socket, self.socket, self.over = self.socket, None, True
            with suppress(Exception):  # it may be gone already
                socket.send(json.dumps({"type": "close"}))
            with suppress(Exception):
                self.resources.close()

    @property
    def _field(self) -> str:
        """The one field that a response becomes; empty if responses are JSON objects."""
        if self.config.action_field:
            return self.config.action_field
        fields = _action_fields(self.config)
        texts = [name for name, kind in fields.items() if kind == "string"]
        return texts[0] if len(texts) == 1 and len(fields) == 1 else ""

    def _action(self, text: str) -> dict[str, Any] | None:
        if self._field:
            return {self._field: text}
        try:
            found = json.loads(text)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def _text(self, observation: Any) -> str:
        if isinstance(observation, dict):
            names = [self.config.observation_field] if self.config.observation_field else TEXT_FIELDS
            found = next((observation[name] for name in names if isinstance(observation.get(name), str)), None)
            if found is not None:
                return str(found)
        return observation if isinstance(observation, str) else json.dumps(observation, ensure_ascii=False)

    def _reset(self, data: dict[str, Any]) -> dict[str, Any]:
        """Resets, waiting while the server is full or cannot be reached."""
        deadline, wait = time.monotonic() + self.config.retry_seconds, BACKOFF
        while True:
            try:
                if self.socket is None:
                    self.socket = self._connect()
                answer = self._ask("reset", data)
                if answer is None:
                    raise OpenEnvError("it refused the reset as invalid")
                return answer
            except (OSError, _Full, EnvironmentUnavailable) as error:
                self.close()
                if time.monotonic() + wait > deadline:
                    raise EnvironmentUnavailable(
                        f"The OpenEnv server {self.config.url} cannot be reached: {type(error).__name__}: {error}.",
                        remedy="Start it, allow it more episodes at a time, or correct parameters.url.",
                    ) from error
            time.sleep(wait)
            wait *= 2

    def _connect(self) -> ClientConnection:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect

        try:
            connection = connect(
                _address(self.config.url, socket=True),
                open_timeout=self.config.request_seconds,
                close_timeout=2,
                max_size=MOST_BYTES,
                proxy=None,
            )
            return self.resources.enter_context(connection)
        except (WebSocketException, TimeoutError) as error:
            raise EnvironmentUnavailable(str(error) or type(error).__name__) from error

    def _ask(self, kind: str, data: dict[str, Any]) -> dict[str, Any] | None:
        """The data of the observation that answers; None if the server finds the action invalid."""
        from websockets.exceptions import WebSocketException

        if self.socket is None:
            raise EnvironmentUnavailable(f"The connection to {self.config.url} is closed.")
        try:
            self.socket.send(json.dumps({"type": kind, "data": data}))
            answer = json.loads(self.socket.recv(timeout=self.config.request_seconds))
        except TimeoutError:
            self.close()
            raise OpenEnvError(f"it did not answer a {kind} within {self.config.request_seconds:g} seconds") from None
        except WebSocketException as error:
            self.close()
            raise EnvironmentUnavailable(
                f"The OpenEnv server {self.config.url} closed the connection: {error}.",
                remedy="See the server's log; it may be out of memory, or have ended.",
            ) from error
        except ValueError as error:
            raise OpenEnvError(f"its answer is not JSON: {error}") from None
        return _observation(answer)


class _Full(Exception):
    """The server has no room for another episode."""


def _observation(answer: Any) -> dict[str, Any] | None:
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, dict):
        raise OpenEnvError(f"its answer does not follow the protocol: {str(answer)[:200]}")
    if answer.get("type") == "error":
        match data.get("code"):
            case "VALIDATION_ERROR":
                return None
            case "CAPACITY_REACHED":
                raise _Full(str(data.get("message", "it is full")))
        raise OpenEnvError(f"{data.get('code', 'error')}: {str(data.get('message', ''))[:500]}")
    if answer.get("type") != "observation" or "observation" not in data:
        raise OpenEnvError(f"it answered {str(answer.get('type'))!r} instead of an observation")
    return data


def _address(url: str, *, socket: bool, path: str = "/ws") -> str:
    parts = urlsplit(url)
    secure = parts.scheme in ("https", "wss")
    scheme = ("wss" if secure else "ws") if socket else ("https" if secure else "http")
    return urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") + path, "", ""))


@lru_cache(maxsize=64)
def _action_fields(config: OpenEnvParameters) -> dict[str, str]:
    """Fields of the server's action and their JSON types, without the metadata that every action has; empty if the
    server does not publish its schema."""
    import httpx2

    try:
        answer = httpx2.get(
            _address(config.url, socket=False, path="/schema"), timeout=config.request_seconds, trust_env=False
        )
        properties = answer.json()["action"]["properties"]
        return {name: str(field.get("type", "any")) for name, field in properties.items() if name != "metadata"}
    except (httpx2.HTTPError, ValueError, KeyError, TypeError, AttributeError):
        return {}
