"""A client of one OpenAI-compatible endpoint, with retries. It knows nothing of episodes.

Transient failures (429, 5xx, timeouts, incomplete responses, lost connections) are retried with exponential backoff,
full jitter and the server's Retry-After. Permanent ones (a rejected key, an unknown model, a page that is not a chat
endpoint) are an `EndpointError` at once. Redirects are never followed: the key goes to the configured address only.
"""

from __future__ import annotations

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

from engine.addresses import is_this_machine
from engine.errors import ConfigError, EndpointError
from engine.policies import chat_completions
from engine.policies.api_key import ApiKey
from engine.policies.chat_completions import ChatResponse
from engine.policies.truncation import NO_TRUNCATION, Truncation
from engine.rollout.prompts import Message

TRANSIENT_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
REJECTED_STATUS = frozenset({400, 413, 422})
MAX_BODY_BYTES = 16 * 2**20
PATH = "/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """The address, the model and the retry policy. Times are in seconds."""

    url: str
    model: str
    timeout: float = 120.0
    retries: int = 6
    backoff: float = 0.5  # before the first retry; doubled for each further one
    longest_wait: float = 60.0  # a Retry-After above it fails the request
    waits_for_start: bool = False  # an address that has never answered is retried too, since it may be starting


class RequestFailed(Exception):
    """One request failed; others may succeed. `kind` becomes the episode's stop reason."""

    def __init__(self, message: str, *, kind: Literal["error", "context_full"] = "error") -> None:
        super().__init__(message)
        self.kind: Literal["error", "context_full"] = kind


class _Transient(Exception):
    """A failure to retry, after `retry_after` seconds if the server named them."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ChatEndpoint:
    """Used from many threads at once."""

    def __init__(self, settings: EndpointSettings, key: ApiKey, *, concurrency: int = 8) -> None:
        address = checked_address(settings.url)
        logging.getLogger("httpcore2").setLevel(logging.WARNING)  # its debug logs contain headers
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
            trust_env=not is_this_machine(address.host),  # no proxy for loopback
            limits=httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency),
            headers={"User-Agent": "starboard", "Accept": "application/json"},
        )
        if key and address.scheme == "http" and not is_this_machine(address.host):
            self.notes["plain"] = "The key is sent unencrypted: the endpoint's address begins with http://."

    def close(self) -> None:
        """Ends retries at once, and requests in progress soon."""
        self._closed.set()
        self._client.close()

    def complete(
        self,
        messages: list[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int,
        truncation: Truncation = NO_TRUNCATION,
    ) -> ChatResponse:
        """One response. `RequestFailed` if this request gets none, `EndpointError` if no request can succeed."""
        sampling = {"temperature": temperature, **truncation.fields()}
        for attempt in range(self.settings.retries + 1):
            try:
                return self._request(messages, max_tokens=max_tokens, sampling=sampling, seed=seed)
            except _Transient as problem:
                reason = str(problem)
                wait = self._pause(attempt, problem)
            if attempt < self.settings.retries:
                with self._count:
                    self.retried += 1
                if self._closed.wait(wait):
                    raise RequestFailed("The evaluation ended before this request had a response.")
        raise RequestFailed(f"No response in {self.settings.retries + 1} attempts. Last error: {reason}")

    def _pause(self, attempt: int, problem: _Transient) -> float:
        """Seconds to wait: a random time up to `backoff` x 2^attempt, after the server's Retry-After."""
        retry_after = problem.retry_after or 0.0
        if retry_after > self.settings.longest_wait:
            raise RequestFailed(
                f"{problem} Its Retry-After is {retry_after:.0f} s; the longest wait is "
                f"{self.settings.longest_wait:.0f} s."
            )
        ceiling = min(self.settings.backoff * 2**attempt, self.settings.longest_wait)
        return retry_after + random.uniform(0, ceiling)

    def _request(
        self, messages: list[Message], *, max_tokens: int, sampling: Mapping[str, float], seed: int
    ) -> ChatResponse:
        limit_field, sends_seed = self.limit_field, self.sends_seed
        payload: dict[str, Any] = {
            "model": self.settings.model,
            "messages": messages,
            **sampling,
            limit_field: max_tokens,
        }
        if sends_seed:
            payload["seed"] = seed
        status, headers, body = self._post(payload)
        if status in REJECTED_STATUS and self._adapted(chat_completions.read_problem(body), limit_field, sends_seed):
            return self._request(messages, max_tokens=max_tokens, sampling=sampling, seed=seed)
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
                        raise _Transient(f"the response was incomplete after {self.settings.timeout:g} s.")
                    if len(body) > MAX_BODY_BYTES:
                        raise RequestFailed(f"The response is larger than {MAX_BODY_BYTES >> 20} MiB.")
                return response.status_code, response.headers, bytes(body)
        except httpx2.TimeoutException:
            raise _Transient(f"no response within {self.settings.timeout:g} s.") from None
        except httpx2.ConnectError as error:
            if self._reached or self.settings.waits_for_start:
                raise _Transient(self._clean(f"the connection was refused ({error}).")) from None
            raise EndpointError(
                self._clean(f"The endpoint {self.url} cannot be reached: {error}."),
                remedy="Check that it is running, and that this is its address.",
            ) from None
        except httpx2.HTTPError as error:
            raise _Transient(self._clean(f"the connection broke ({type(error).__name__}: {error}).")) from None
        except RuntimeError:
            if self._closed.is_set():  # closed during the request
                raise RequestFailed("The evaluation ended before this request had a response.") from None
            raise

    def _read(self, headers: Mapping[str, str], body: bytes) -> ChatResponse:
        try:
            data = chat_completions.read_object(body)
        except chat_completions.NotJson:
            if "html" in headers.get("content-type", ""):
                raise self._not_a_chat_endpoint("it returns a web page") from None
            raise _Transient("a response that is not JSON.") from None
        if data.get("error"):
            raise _Transient(f"an error: {self._message(body)}")
        try:
            response = chat_completions.read_response(data)
        except chat_completions.NotChatCompletion as error:
            raise self._not_a_chat_endpoint(f"its response has {error}") from None
        return response

    def _refuse(self, status: int, headers: Mapping[str, str], body: bytes) -> NoReturn:
        """Raises the error that this status means."""
        message = self._message(body)
        problem = chat_completions.read_problem(body)
        if 300 <= status < 400:
            target = self._clean(_host(headers.get("location", "")))
            raise EndpointError(
                f"The endpoint {self.url} redirects to {target}; redirects are not followed.",
                remedy="Give the address it redirects to, if you trust it with the key.",
            )
        if status in (401, 403):
            raise EndpointError(
                f"The endpoint {self.url} rejected the key (status {status}): {message}",
                remedy="Name the environment variable with a valid key."
                if self.key
                else "It requires a key: name the environment variable that holds it.",
            )
        if status == 404:
            raise EndpointError(
                f"The endpoint {self.url} does not exist or has no model {self.settings.model!r} (404): {message}",
                remedy="Give the address before /chat/completions, often ending in /v1, and a model that it lists.",
            )
        if problem.get("code") == "insufficient_quota":
            raise EndpointError(f"The endpoint {self.url} reports an exhausted quota: {message}", remedy="Increase it.")
        if status in TRANSIENT_STATUS:
            reason = "rate limited (429)" if status == 429 else f"status {status}"
            raise _Transient(f"{reason}: {message}", _seconds(headers.get("retry-after")))
        if status in REJECTED_STATUS:
            kind: Literal["error", "context_full"] = (
                "context_full" if chat_completions.is_context_error(problem) else "error"
            )
            raise RequestFailed(f"The endpoint rejected the request (status {status}): {message}", kind=kind)
        raise self._not_a_chat_endpoint(f"it responds with status {status}: {message}")

    def _adapted(self, problem: dict[str, Any], limit_field: str, sends_seed: bool) -> bool:
        """Whether the request can be adapted: newer models rename a field, some servers accept no seed."""
        message = problem["message"]
        if chat_completions.is_context_error(problem):
            return False
        if limit_field == "max_tokens" and "max_completion_tokens" in message:
            self.limit_field = "max_completion_tokens"
            return True
        if sends_seed and (problem.get("param") == "seed" or "seed" in message.lower().replace("'", " ").split()):
            self.sends_seed = False
            self.notes["seed"] = "The endpoint accepts no seed: sampled responses differ between evaluations."
            return True
        return False

    def _not_a_chat_endpoint(self, why: str) -> EndpointError:
        return EndpointError(
            f"{self.url} is not a chat endpoint: {why}.",
            remedy="Give the address of an OpenAI-compatible server, often ending in /v1.",
        )

    def _message(self, body: bytes) -> str:
        """The server's error message on one line, without the key and without control characters."""
        clean = self._clean(chat_completions.read_problem(body)["message"])
        line = " ".join("".join(character if character.isprintable() else " " for character in clean).split())
        return line[: chat_completions.MESSAGE_LENGTH] or "no reason given"

    def _clean(self, text: str) -> str:
        return self.key.redact(text)


def checked_address(url: str) -> httpx2.URL:
    """The address to post to; `ConfigError` unless it is a plain http(s) address. Errors do not repeat it: it may
    contain a password."""
    try:
        address = httpx2.URL(url.rstrip("/"))
    except httpx2.InvalidURL:
        address = httpx2.URL("")
    if address.scheme not in ("http", "https") or not address.host:
        raise ConfigError("The endpoint is not an http(s) address.", remedy="Use a form like http://127.0.0.1:8000/v1.")
    if address.userinfo or address.query or address.fragment:
        raise ConfigError(
            "The endpoint's address contains a user name, password, query or fragment, which results would show.",
            remedy="Give the bare address, and name the variable that holds the key.",
        )
    return address if address.path.endswith(PATH) else address.copy_with(path=address.path.rstrip("/") + PATH)


def _host(location: str) -> str:
    try:
        return httpx2.URL(location).host or "another path"
    except httpx2.InvalidURL:
        return "an invalid address"


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After in seconds from now; it is a number or a date (RFC 9110, 10.2.3)."""
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
