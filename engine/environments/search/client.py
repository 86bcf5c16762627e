"""A client for retrieval servers: RAGEN's protocol, and Search-R1's, which uses the same path with other keys.

A server that does not respond as it should raises `EnvironmentUnavailable`, as no observation can be made of it.
"""

from __future__ import annotations

import json
import os
import time
from functools import lru_cache
from typing import Any, Literal

import httpx2

from engine.addresses import is_this_machine, plain_address
from engine.environments.search.index import Article, Hit
from engine.errors import ConfigError, EnvironmentUnavailable

Protocol = Literal["ragen", "search_r1"]
PATH = "/retrieve"
ATTEMPTS = 3
PAUSE_SECONDS = 0.2  # before the second attempt; twice that before the third
MOST_BYTES = 8 << 20


class RetrievalClient:
    """Used from many threads at once. `seconds` bound a search with all its attempts."""

    def __init__(self, server: str, protocol: Protocol, seconds: float) -> None:
        address = checked_address(server)
        self.url, self.protocol, self.seconds = f"{address}{PATH}", protocol, seconds
        proxies = not is_this_machine(httpx2.URL(address).host)
        self._client = httpx2.Client(follow_redirects=False, trust_env=proxies)

    def search(self, query: str, most: int) -> list[Hit]:
        deadline = time.monotonic() + self.seconds
        for attempt in range(ATTEMPTS):
            try:
                return self._request(query, most, deadline)
            except _Transient as problem:
                reason = str(problem)
            pause = PAUSE_SECONDS * 2**attempt
            if attempt == ATTEMPTS - 1 or time.monotonic() + pause > deadline:
                break
            time.sleep(pause)
        raise self._unavailable(reason)

    def _request(self, query: str, most: int, deadline: float) -> list[Hit]:
        payload: dict[str, Any] = (
            {"query": query, "top_k": most}
            if self.protocol == "ragen"
            else {"queries": [query], "topk": most, "return_scores": True}
        )
        status, body = self._post(payload, deadline)
        if status in (429, 500, 502, 503, 504):
            raise _Transient(f"it responds with status {status}")
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            raise self._unavailable(f"its response, with status {status}, is not JSON") from None
        if status != 200:
            reason = data.get("error") if isinstance(data, dict) else None
            raise self._unavailable(f"it responds with status {status}: {_line(reason or 'no reason given')}")
        try:
            return hits_of(data)[:most]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise self._unavailable("its response has neither RAGEN's results nor Search-R1's result") from None

    def _post(self, payload: dict[str, Any], deadline: float) -> tuple[int, bytes]:
        left = max(0.01, deadline - time.monotonic())
        body = bytearray()
        try:
            with self._client.stream("POST", self.url, json=payload, timeout=left) as response:
                for part in response.iter_bytes():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise self._unavailable(f"its response is larger than {MOST_BYTES >> 20} MiB")
                    if time.monotonic() > deadline:
                        raise _Transient(f"its response was incomplete after {self.seconds:g} s")
                return response.status_code, bytes(body)
        except httpx2.TimeoutException:
            raise _Transient(f"it did not respond within {self.seconds:g} s") from None
        except httpx2.HTTPError as error:
            raise _Transient(_line(error) or type(error).__name__) from None

    def _unavailable(self, reason: str) -> EnvironmentUnavailable:
        return EnvironmentUnavailable(
            f"The retrieval server {self.url} cannot be used: {reason}.",
            remedy="Start it, or correct the environment's server and protocol.",
        )


class _Transient(Exception):
    """A failure after which another attempt may succeed."""


@lru_cache(maxsize=8)
def _client(server: str, protocol: Protocol, seconds: float, process: int) -> RetrievalClient:
    return RetrievalClient(server, protocol, seconds)


def client_for(server: str, protocol: Protocol, seconds: float) -> RetrievalClient:
    """A client that the environments of a process share, with its connections."""
    return _client(server, protocol, seconds, os.getpid())


def hits_of(data: Any) -> list[Hit]:
    """The results of a response: `results` of RAGEN's server, or the first of `result` of Search-R1's, whose items are
    documents, or have them beside their scores."""
    if "results" in data:
        return [_hit(item["content"], item.get("score"), item.get("id")) for item in data["results"]]
    found = []
    for item in data["result"][0]:
        document = item.get("document", item)
        found.append(_hit(document["contents"], item.get("score"), document.get("id")))
    return found


def _hit(content: str, score: Any, identity: Any) -> Hit:
    """Both servers write an article as one text: the title, in quotes or not, on a line of its own, then the rest."""
    title, _, text = str(content).partition("\n")
    if not text:
        title, text = "", title
    return Hit(Article(title.strip().strip('"'), text.strip()), float(score or 0.0), str(identity or ""))


def checked_address(server: str) -> str:
    """The address without a final slash or path of the protocol; `ConfigError` unless it is a plain http(s) address."""
    if address := plain_address(server):
        return address.removesuffix(PATH)
    raise ConfigError(
        "The retrieval server is not a plain http(s) address.", remedy="Use a form like http://127.0.0.1:8000."
    )


def _line(text: Any) -> str:
    return " ".join(str(text).split())[:200].rstrip(".")
