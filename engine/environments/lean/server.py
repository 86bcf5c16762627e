"""A client of Lean servers that speak the HTTP protocol of kimina-lean-server.

POST /api/check, or /verify of older servers. A failure of the server raises `EnvironmentUnavailable`; a proof that
takes too long is no failure of the server, and is reported as such in a response of status 200.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from functools import lru_cache
from itertools import count
from typing import Any

import httpx2

from engine.addresses import is_this_machine, plain_address
from engine.environments.lean.rules import Check, Standing, judged
from engine.environments.lean.theorems import Theorem
from engine.errors import ConfigError, EnvironmentUnavailable

ADDRESS_VARIABLE = "LEAN_SERVER_API_URL"
KEY_VARIABLE = "LEAN_SERVER_API_KEY"
DEFAULT_ADDRESS = "http://127.0.0.1:8000"
PATHS = ("/api/check", "/verify")
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds between attempts
MOST_BYTES = 16 << 20


class _Transient(Exception):
    """A failure after which another attempt may succeed."""


class _NoConnection(_Transient):
    pass


class LeanServer:
    """Used from many threads at once. `wait_seconds` bound a check with all its attempts; a server that was never
    reached is given up after three."""

    def __init__(self, address: str, key: str, check_seconds: int, wait_seconds: float) -> None:
        self.address, self.check_seconds, self.wait_seconds = address, check_seconds, wait_seconds
        self._key, self._path, self._reached = key, PATHS[0], False
        host = httpx2.URL(address).host
        logging.getLogger("httpcore2").setLevel(logging.WARNING)  # its debug logs contain headers
        self._client = httpx2.Client(follow_redirects=False, trust_env=not is_this_machine(host))

    def check(self, text: str, theorem: Theorem) -> Check:
        deadline = time.monotonic() + self.wait_seconds
        for attempt in count():
            try:
                return self._checked(self._result(text, deadline), theorem)
            except _Transient as problem:
                reason = problem
            if isinstance(reason, _NoConnection) and not self._reached and attempt == 2:
                raise self._unavailable(str(reason))
            pause = min(FIRST_PAUSE * 2 ** min(attempt, 10), LONGEST_PAUSE)
            if time.monotonic() + pause > deadline:
                raise self._unavailable(f"{reason} (for {self.wait_seconds:g} s)")
            time.sleep(pause)
        raise AssertionError("attempts do not end by themselves")

    def _checked(self, result: dict[str, Any], theorem: Theorem) -> Check:
        error, response = result.get("error"), result.get("response")
        if error:
            timed_out = "timed out" in str(error).lower()
            return Check(Standing.TIMED_OUT if timed_out else Standing.FAILED, str(error))
        if not isinstance(response, dict):
            raise self._unavailable("its response has neither an error nor a response of the REPL")
        return judged(response, theorem)

    def _result(self, text: str, deadline: float) -> dict[str, Any]:
        name = secrets.token_hex(8)
        for path in PATHS[PATHS.index(self._path) :]:
            status, body = self._post(path, _payload(path, name, text, self.check_seconds), deadline)
            if status in (404, 405) and path != PATHS[-1]:
                continue
            self._path = path
            return self._read(status, body, name)
        raise AssertionError("the last path is never skipped")

    def _read(self, status: int, body: bytes, name: str) -> dict[str, Any]:
        if status == 429 or status >= 500:
            raise _Transient(f"it responds with status {status}: {_detail(body)}")
        if status in (401, 403):
            raise self._unavailable(
                f"it rejects the key (status {status})", f"Set {KEY_VARIABLE}, and {ADDRESS_VARIABLE} to its address."
            )
        if status != 200:
            raise self._unavailable(f"it responds with status {status}: {_detail(body)}")
        try:
            results = json.loads(body)["results"]
            return dict(next(one for one in results if one.get("id", one.get("custom_id")) == name))
        except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
            raise self._unavailable("its response has no result of the check") from None

    def _post(self, path: str, payload: dict[str, Any], deadline: float) -> tuple[int, bytes]:
        left = max(0.05, deadline - time.monotonic())
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        body = bytearray()
        try:
            url = f"{self.address}{path}"
            with self._client.stream("POST", url, json=payload, headers=headers, timeout=left) as response:
                self._reached = True
                for part in response.iter_bytes():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise self._unavailable(f"its response is larger than {MOST_BYTES >> 20} MiB")
                    if time.monotonic() > deadline:
                        raise _Transient("its response was incomplete")
                return response.status_code, bytes(body)
        except httpx2.ConnectError as error:
            raise _NoConnection(_line(str(error)) or "no connection") from None
        except httpx2.TimeoutException:
            raise _Transient("it did not respond in time") from None
        except httpx2.HTTPError as error:
            raise _Transient(_line(str(error)) or type(error).__name__) from None

    def _unavailable(self, reason: str, remedy: str = "") -> EnvironmentUnavailable:
        return EnvironmentUnavailable(
            f"The Lean server {self.address} cannot be used: {reason}.",
            remedy=remedy or f"Start kimina-lean-server, and set {ADDRESS_VARIABLE} to its address.",
        )


def _payload(path: str, name: str, text: str, seconds: int) -> dict[str, Any]:
    if path == PATHS[0]:
        return {"snippets": [{"id": name, "code": text}], "timeout": seconds, "debug": False, "reuse": True}
    return {"codes": [{"custom_id": name, "proof": text}], "timeout": seconds, "disable_cache": False}


def lean_server(given: str, check_seconds: int, wait_seconds: float) -> LeanServer:
    """The server at `given`, or at the address of the environment variable, shared by a process.

    The key is sent only to the address of the variable and to this machine, so that nobody who configures an
    environment can have it sent elsewhere.
    """
    own = os.environ.get(ADDRESS_VARIABLE, "")
    address = checked_address(given or own or DEFAULT_ADDRESS)
    trusted = is_this_machine(httpx2.URL(address).host) or bool(own and checked_address(own) == address)
    key = os.environ.get(KEY_VARIABLE, "") if trusted else ""
    return _server(address, key, check_seconds, wait_seconds, os.getpid())


@lru_cache(maxsize=8)
def _server(address: str, key: str, check_seconds: int, wait_seconds: float, process: int) -> LeanServer:
    return LeanServer(address, key, check_seconds, wait_seconds)


def checked_address(server: str) -> str:
    """The address without a final slash; `ConfigError` unless it is a plain http(s) address."""
    if address := plain_address(server):
        return address
    raise ConfigError("The Lean server is not a plain http(s) address.", remedy=f"Use a form like {DEFAULT_ADDRESS}.")


def _detail(body: bytes) -> str:
    try:
        return _line(str(json.loads(body)["detail"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return _line(body[:400].decode("utf-8", "replace")) or "no reason given"


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:200].rstrip(".")
