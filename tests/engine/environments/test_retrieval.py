"""The client for retrieval servers and the reference server, over loopback."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import numpy as np
import pytest
from pydantic import ValidationError

from engine.environments import make_environment
from engine.environments.search.client import RetrievalClient, checked_address
from engine.environments.search.corpus import index_of, shipped
from engine.environments.search.environment import Search
from engine.environments.search.server import RetrievalServer
from engine.errors import ConfigError, EnvironmentFault, EnvironmentUnavailable


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[str]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(RetrievalServer(("127.0.0.1", 0), index_of(shipped("all")))) as url:
        yield url


@contextmanager
def responding(*responses: tuple[int, bytes] | Callable[[], tuple[int, bytes]]) -> Iterator[tuple[str, list[Any]]]:
    """A server that gives these responses in turn, the last one again and again; and the requests it had."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            response = responses[min(len(asked), len(responses)) - 1]
            status, body = response() if callable(response) else response
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url, asked


GOOD = json.dumps({"results": [{"id": "doc_0", "content": '"Title"\nText.', "score": 2.5}], "num_results": 1}).encode()


@pytest.mark.parametrize("protocol", ["ragen", "search_r1"])
def test_both_protocols_give_what_the_index_gives(address: str, protocol: Any) -> None:
    query = "river sea town"
    hits = RetrievalClient(address, protocol, 10).search(query, 4)
    here = index_of(shipped("all")).search(query, 4)
    assert [(hit.article, hit.identity) for hit in hits] == [(hit.article, hit.identity) for hit in here]
    assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in here])


def test_the_server_speaks_ragens_protocol(address: str) -> None:
    health = httpx2.get(f"{address}/health").json()
    assert health == {"status": "healthy", "corpus_size": 1254, "index_type": "fts5", "index_loaded": True}
    response = httpx2.post(f"{address}/retrieve", json={"query": "sea", "k": 2}).json()
    assert (response["query"], response["num_results"], len(response["results"])) == ("sea", 2, 2)
    assert set(response["results"][0]) == {"id", "content", "score"}


def test_the_server_speaks_search_r1s_form_when_a_request_has_its_keys(address: str) -> None:
    request = {"queries": ["sea", "river"], "topk": 3}
    plain = httpx2.post(f"{address}/retrieve", json=request).json()["result"]
    assert [len(found) for found in plain] == [3, 3]
    assert set(plain[0][0]) == {"id", "contents"}
    scored = httpx2.post(f"{address}/retrieve", json={**request, "return_scores": True}).json()["result"]
    assert scored[0][0]["document"] == plain[0][0] and scored[0][0]["score"] > 0


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b"[" * 100_000, 400),
        (b'{"query": " "}', 400),
        (b'{"query": 3}', 400),
        (b'{"query": "sea", "top_k": 0}', 400),
        (b'{"query": "sea", "top_k": true}', 400),
        (b'{"queries": [1]}', 400),
        (b" " * (1 << 20) + b"{}", 413),
    ],
)
def test_the_server_refuses_bad_requests_with_a_reason(address: str, content: bytes, status: int) -> None:
    response = httpx2.post(f"{address}/retrieve", content=content)
    assert response.status_code == status
    assert response.json()["error"]


def test_an_episode_plays_the_same_at_a_server_as_here(address: str) -> None:
    seen = []
    for server in ("", address):
        search = make_environment("search", server=server)
        assert isinstance(search, Search)
        shown = [search.reset(seed=3)[0]]
        while not search.over:
            shown.append(search.step(search.scripted_action(np.random.default_rng(0)))[0])
        seen.append(shown)
    assert seen[0] == seen[1]
    assert len(seen[0]) > 2


def test_a_server_that_cannot_be_reached_is_no_observation() -> None:
    with running(ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)) as url:
        pass  # closed again, so that nothing listens there
    search = make_environment("search", server=url, timeout_seconds=2)
    search.reset(seed=1)
    with pytest.raises(
        EnvironmentUnavailable, match=rf"{url}/retrieve cannot be used: .* Start it, or correct"
    ) as raised:
        search.step("search[sea]")
    assert isinstance(raised.value, EnvironmentFault)


def test_a_passing_failure_is_retried() -> None:
    with responding((503, b"busy"), (429, b"busy"), (200, GOOD)) as (url, asked):
        [hit] = RetrievalClient(url, "ragen", 10).search("sea", 3)
    assert (hit.article.title, hit.article.text, hit.score) == ("Title", "Text.", 2.5)
    assert asked == [{"query": "sea", "top_k": 3}] * 3


def test_a_lasting_failure_is_reported_after_three_attempts() -> None:
    with responding((500, b"")) as (url, asked), pytest.raises(EnvironmentUnavailable, match="status 500"):
        RetrievalClient(url, "ragen", 10).search("sea", 3)
    assert len(asked) == 3


def test_a_server_that_hangs_is_given_up_in_time() -> None:
    wake = threading.Event()

    def hang() -> tuple[int, bytes]:
        wake.wait(20)
        return 200, GOOD

    with responding(hang) as (url, _):
        begin = time.monotonic()
        with pytest.raises(EnvironmentUnavailable, match=r"did not respond within 0\.3 s"):
            RetrievalClient(url, "ragen", 0.3).search("sea", 3)
        assert time.monotonic() - begin < 3
        wake.set()


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (200, b"<html>", "its response, with status 200, is not JSON"),
        (404, b"{}", "status 404: no reason given"),
        (400, b'{"error": "No\\nquery."}', "status 400: No query"),
        (302, b"{}", "status 302"),
        (200, b"{}", "neither RAGEN's results nor Search-R1's result"),
        (200, b"[]", "neither"),
        (200, b"null", "neither"),
        (200, b'{"results": [{"id": 1}]}', "neither"),
        (200, b'{"results": [{"content": "x", "score": "high"}]}', "neither"),
        (200, b'{"result": [["x"]]}', "neither"),
        (200, b'{"results": "' + b"x" * (9 << 20) + b'"}', "larger than 8 MiB"),
    ],
)
def test_a_response_of_another_kind_is_reported_at_once(status: int, body: bytes, reason: str) -> None:
    with responding((status, body)) as (url, asked), pytest.raises(EnvironmentUnavailable, match=reason):
        RetrievalClient(url, "ragen", 10).search("sea", 3)
    assert len(asked) == 1


def test_documents_without_a_title_and_more_than_asked_for_are_taken_as_they_are() -> None:
    many = json.dumps({"results": [{"id": n, "content": f"Text {n}."} for n in range(9)]}).encode()
    with responding((200, many)) as (url, _):
        hits = RetrievalClient(url, "ragen", 10).search("sea", 2)
    assert [(hit.article.title, hit.article.text) for hit in hits] == [("", "Text 0."), ("", "Text 1.")]


def test_an_address_is_given_with_or_without_the_path() -> None:
    for written in ("http://h:8000", "http://h:8000/", "http://h:8000/retrieve", " http://h:8000/retrieve/ "):
        assert checked_address(written) == "http://h:8000"


@pytest.mark.parametrize(
    "written", ["h:8000", "ftp://h", "http://", "http://user:secret@h", "http://h?x=1", "file:///x"]
)
def test_another_address_is_refused_in_the_form(written: str) -> None:
    with pytest.raises(ConfigError, match="not a plain http"):
        checked_address(written)
    with pytest.raises(ValidationError, match="not a plain http") as raised:
        make_environment("search", server=written)
    assert "Use a form like" in str(raised.value)
