"""A client of the environment protocol. Requests that may be repeated are, for a limited time."""

from __future__ import annotations

import os
import random
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from engine.environments.remote import protocol
from engine.environments.remote.protocol import About, Action, Begun, Message, Start, Stepped
from engine.errors import EnvironmentUnavailable

if TYPE_CHECKING:
    import httpx2

MOST_CONNECTIONS = 256
RETRIED = frozenset({408, 425, 429, 502, 503, 504})
BACKOFF = 0.2  # seconds before the first retry; doubled for each further one
_Answer = TypeVar("_Answer", bound=Message)


class ServerError(Exception):
    """The server's environment raised, or the server broke the protocol: a fault of this episode."""


class EnvironmentClient:
    """`seconds` is the time of one request, `retry_seconds` the time for which a server may be unreachable."""

    def __init__(self, url: str, *, seconds: float, retry_seconds: float) -> None:
        self.url, self.seconds, self.retry_seconds = url.rstrip("/"), seconds, retry_seconds

    def about(self) -> About:
        return self._request(About, "GET", "/v1/environment")

    def begin(self, start: Start) -> Begun:
        return self._request(Begun, "POST", "/v1/episodes", start)

    def step(self, episode: str, action: Action) -> Stepped:
        return self._request(Stepped, "POST", f"/v1/episodes/{episode}/steps", action)

    def end(self, episode: str) -> None:
        """Ends an episode; one that cannot be reached expires by itself."""
        try:
            _client(self.seconds).delete(f"{self.url}/v1/episodes/{episode}", headers=_headers())
        except _transport_error():
            return

    def _request(self, answer: type[_Answer], method: str, path: str, body: Message | None = None) -> _Answer:
        deadline, wait = time.monotonic() + self.retry_seconds, BACKOFF
        while True:
            try:
                response = _client(self.seconds).request(
                    method,
                    self.url + path,
                    content=body.model_dump_json() if body is not None else None,
                    headers={**_headers(), "Content-Type": "application/json"},
                )
                problem = f"it answered {response.status_code}: {_message(response)}"
                if response.status_code not in RETRIED:
                    return _read(answer, response, problem)
            except _transport_error() as error:
                problem = f"{type(error).__name__}: {error}"
            if time.monotonic() + wait > deadline:
                raise EnvironmentUnavailable(
                    f"The environment server {self.url} cannot be reached: {problem}.",
                    remedy="Start it, or correct parameters.url.",
                )
            time.sleep(wait * random.uniform(0.5, 1.0))
            wait *= 2


def _read(answer: type[_Answer], response: httpx2.Response, problem: str) -> _Answer:
    if response.status_code in (401, 403):
        raise EnvironmentUnavailable(
            f"The environment server {response.url} refuses the token.",
            remedy=f"Set {protocol.TOKEN_VARIABLE} to the server's token in the environment of the workers.",
        )
    if not response.is_success:
        raise ServerError(problem)
    if len(response.content) > protocol.MOST_BYTES:
        raise ServerError(f"its answer has {len(response.content)} bytes; at most {protocol.MOST_BYTES} are allowed")
    try:
        return answer.model_validate_json(response.content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ServerError(f"its answer does not follow the protocol: {where or 'body'}: {first['msg']}") from None


def _message(response: httpx2.Response) -> str:
    try:
        error: Any = response.json()["error"]
        return str(error["message"])[:500]
    except (ValueError, KeyError, TypeError):
        return response.text[:200]


def _headers() -> dict[str, str]:
    token = os.environ.get(protocol.TOKEN_VARIABLE, "")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _transport_error() -> type[Exception]:
    import httpx2

    return httpx2.HTTPError


@lru_cache(maxsize=4)
def _client(seconds: float) -> httpx2.Client:
    """One pool of connections for a process. Redirects are not followed: the token is for the configured address."""
    import httpx2

    limits = httpx2.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS)
    return httpx2.Client(timeout=seconds, limits=limits, follow_redirects=False, trust_env=False)
