"""One OpenAI-compatible endpoint: asks, waits, retries, and says why when it gives up. Knows no episodes.

What passes (429, 5xx, time-outs, broken answers, lost connections) is tried again with exponential back-off, full
jitter and the server's own Retry-After. What does not pass (a refused key, an unknown model, a page that is no chat
endpoint) is an `EndpointError` at once. Redirects are never followed: the key goes to the address given, nowhere else.
"""

from __future__ import annotations

import ipaddress
import logging
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NoReturn

import httpx2

from engine.errors import ConfigError, EndpointError
from engine.policies import chat_answers
from engine.policies.api_key import ApiKey
from engine.policies.chat_answers import ChatResponse
from engine.rollout.prompts import Message

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
REFUSED = frozenset({400, 413, 422})
LARGEST_ANSWER = 16 * 2**20  # bytes
PATH = "/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """Where to ask, and how patiently. Times are seconds."""

    url: str
    model: str
    timeout: float = 120.0
    retries: int = 6
    backoff: float = 0.5  # before the first retry; doubles with each
    longest_wait: float = 60.0  # a server that asks for more is given up


class GivenUp(Exception):
    """One request that got no response; others may. `kind` becomes the episode's stop."""

    def __init__(self, message: str, *, kind: Literal["error", "context_full"] = "error") -> None:
        super().__init__(message)
        self.kind: Literal["error", "context_full"] = kind


class _Passing(Exception):
    """Worth another try, after `retry_after` seconds if the server named them."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ChatEndpoint:
    """Asked from many threads at once."""

    def __init__(self, settings: EndpointSettings, key: ApiKey, *, concurrency: int = 8) -> None:
        address = checked_address(settings.url)
        logging.getLogger("httpcore2").setLevel(logging.WARNING)  # its details repeat headers
        self.settings, self.key = settings, key
        self.url = str(address)
        self.notes: dict[str, str] = {}
        self.limit_field = "max_tokens"
        self.sends_seed = True
        self.retried = 0
        self._reached = False
        self._count = threading.Lock()
        self._closed = threading.Event()
        self._client = httpx2.Client(
            timeout=settings.timeout,
            follow_redirects=False,
            trust_env=not is_this_machine(address.host),  # no proxy stands between this machine and itself
            limits=httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency),
            headers={"User-Agent": "starboard", "Accept": "application/json"},
        )
        if key and address.scheme == "http" and not is_this_machine(address.host):
            self.notes["plain"] = "The key travels unencrypted: the endpoint's address begins with http://."

    def close(self) -> None:
        """Ends what waits, and soon what asks."""
        self._closed.set()
        self._client.close()

    def complete(self, messages: list[Message], *, max_tokens: int, temperature: float, seed: int) -> ChatResponse:
        """One response; `GivenUp` when this request gets none, `EndpointError` when none ever will."""
        for attempt in range(self.settings.retries + 1):
            try:
                return self._ask(messages, max_tokens=max_tokens, temperature=temperature, seed=seed)
            except _Passing as problem:
                reason = str(problem)
                wait = self._pause(attempt, problem)
            if attempt < self.settings.retries:
                with self._count:
                    self.retried += 1
                if self._closed.wait(wait):
                    raise GivenUp("The evaluation ended before this request had a response.")
        raise GivenUp(f"No response in {self.settings.retries + 1} attempts. The last one: {reason}")

    def _pause(self, attempt: int, problem: _Passing) -> float:
        """Seconds to wait: up to `backoff` x 2^attempt, at random, and never less than the server asks for."""
        asked = problem.retry_after or 0.0
        if asked > self.settings.longest_wait:
            raise GivenUp(
                f"{problem} It asks to wait {asked:.0f} s; no more than {self.settings.longest_wait:.0f} s are waited."
            )
        ceiling = min(self.settings.backoff * 2**attempt, self.settings.longest_wait)
        return asked + random.uniform(0, ceiling)

    def _ask(self, messages: list[Message], *, max_tokens: int, temperature: float, seed: int) -> ChatResponse:
        limit_field, sends_seed = self.limit_field, self.sends_seed
        payload: dict[str, Any] = {
            "model": self.settings.model,
            "messages": messages,
            "temperature": temperature,
            limit_field: max_tokens,
        }
        if sends_seed:
            payload["seed"] = seed
        status, headers, body = self._post(payload)
        if status in REFUSED and self._adapted(chat_answers.read_problem(body), limit_field, sends_seed):
            return self._ask(messages, max_tokens=max_tokens, temperature=temperature, seed=seed)
        if status != 200:
            self._refuse(status, headers, body)
        return self._read(headers, body)

    def _post(self, payload: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        deadline = time.monotonic() + self.settings.timeout
        try:
            with self._client.stream("POST", self.url, json=payload, headers=self.key.headers()) as response:
                self._reached = True
                body = bytearray()
                for part in response.iter_bytes():
                    body += part
                    if time.monotonic() > deadline:
                        raise _Passing(f"the answer was not whole after {self.settings.timeout:g} s.")
                    if len(body) > LARGEST_ANSWER:
                        raise GivenUp(f"The answer is larger than {LARGEST_ANSWER >> 20} MiB.")
                return response.status_code, response.headers, bytes(body)
        except httpx2.TimeoutException:
            raise _Passing(f"no answer within {self.settings.timeout:g} s.") from None
        except httpx2.ConnectError as error:
            if self._reached:
                raise _Passing(self._clean(f"the connection was refused ({error}).")) from None
            raise EndpointError(
                self._clean(f"The endpoint {self.url} cannot be reached: {error}."),
                remedy="See that it runs, and that --endpoint is its address.",
            ) from None
        except httpx2.HTTPError as error:
            raise _Passing(self._clean(f"the connection broke ({type(error).__name__}: {error}).")) from None
        except RuntimeError:
            if self._closed.is_set():  # closed under way
                raise GivenUp("The evaluation ended before this request had a response.") from None
            raise

    def _read(self, headers: Mapping[str, str], body: bytes) -> ChatResponse:
        try:
            data = chat_answers.read_object(body)
        except chat_answers.NoJson:
            if "html" in headers.get("content-type", ""):
                raise self._no_chat("it answers with a web page") from None
            raise _Passing("an answer that is not JSON.") from None
        if data.get("error"):
            raise _Passing(f"an error in place of a response: {self._words(body)}")
        try:
            response = chat_answers.read_response(data)
        except chat_answers.NoChat as error:
            raise self._no_chat(f"its answer has {error}") from None
        return response

    def _refuse(self, status: int, headers: Mapping[str, str], body: bytes) -> NoReturn:
        """Raises what an answer with this status means."""
        words = self._words(body)
        problem = chat_answers.read_problem(body)
        if 300 <= status < 400:
            target = self._clean(_host(headers.get("location", "")))
            raise EndpointError(
                f"The endpoint {self.url} redirects to {target}; redirects are not followed.",
                remedy="Give the address it redirects to, if you trust it with the key.",
            )
        if status in (401, 403):
            raise EndpointError(
                f"The endpoint {self.url} refused the key (status {status}): {words}",
                remedy="Name the variable with a valid key by --key-env."
                if self.key
                else "It wants a key: name the environment variable that holds it by --key-env.",
            )
        if status == 404:
            raise EndpointError(
                f"The endpoint {self.url} knows no such address or no model {self.settings.model!r} (404): {words}",
                remedy="--endpoint is the address before /chat/completions, often ending in /v1; --model one it lists.",
            )
        if problem.get("code") == "insufficient_quota":
            raise EndpointError(f"The endpoint {self.url} says that its quota is used up: {words}", remedy="Add to it.")
        if status in PASSING:
            said = "it asks to slow down (429)" if status == 429 else f"status {status}"
            raise _Passing(f"{said}: {words}", _seconds(headers.get("retry-after")))
        if status in REFUSED:
            kind: Literal["error", "context_full"] = "context_full" if chat_answers.says_too_long(problem) else "error"
            raise GivenUp(f"The endpoint refused the request (status {status}): {words}", kind=kind)
        raise self._no_chat(f"it answers with status {status}: {words}")

    def _adapted(self, problem: dict[str, Any], limit_field: str, sends_seed: bool) -> bool:
        """Whether the request can be put in another way: newer models rename a field, some servers take no seed."""
        words = problem["message"]
        if chat_answers.says_too_long(problem):
            return False
        if limit_field == "max_tokens" and "max_completion_tokens" in words:
            self.limit_field = "max_completion_tokens"
            return True
        if sends_seed and (problem.get("param") == "seed" or "seed" in words.lower().replace("'", " ").split()):
            self.sends_seed = False
            self.notes["seed"] = "The endpoint takes no seed: sampled responses differ from one evaluation to the next."
            return True
        return False

    def _no_chat(self, why: str) -> EndpointError:
        return EndpointError(
            f"{self.url} is no chat endpoint: {why}.",
            remedy="Give the address of an OpenAI-compatible server, often ending in /v1.",
        )

    def _words(self, body: bytes) -> str:
        """The server's own words on one line, without the key and without what would steer a terminal."""
        clean = self._clean(chat_answers.read_problem(body)["message"])
        words = " ".join("".join(sign if sign.isprintable() else " " for sign in clean).split())
        return words[: chat_answers.MESSAGE_LENGTH] or "it gives no reason."

    def _clean(self, text: str) -> str:
        return self.key.redact(text)


def checked_address(url: str) -> httpx2.URL:
    """The address to post to; `ConfigError` for one that is no plain http(s) address. It is not repeated: what is wrong
    with it may be a password in it."""
    try:
        address = httpx2.URL(url.rstrip("/"))
    except httpx2.InvalidURL:
        address = httpx2.URL("")
    if address.scheme not in ("http", "https") or not address.host:
        raise ConfigError("--endpoint is no web address.", remedy="Write it like http://127.0.0.1:8000/v1.")
    if address.userinfo or address.query or address.fragment:
        raise ConfigError(
            "--endpoint has a name, password, query or fragment in it, and results would show them.",
            remedy="Give the bare address, and the key by --key-env.",
        )
    return address if address.path.endswith(PATH) else address.copy_with(path=address.path.rstrip("/") + PATH)


def is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host(location: str) -> str:
    try:
        return httpx2.URL(location).host or "another path"
    except httpx2.InvalidURL:
        return "an address that is none"


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After as seconds from now; it is a number or a date (RFC 9110, 10.2.3)."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
