"""A static file's response: whole, in part, without a body, and not again to a browser that has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings as site
from django.test import Client

PLOTLY = "vendor/plotly/plotly-basic.min.js"
ADDRESS = f"{site.STATIC_URL}{PLOTLY}"


@pytest.fixture
def content() -> bytes:
    return (Path(site.BASE_DIR) / "static" / PLOTLY).read_bytes()


def test_a_file_is_sent_whole_and_kept_by_browsers(client: Client, content: bytes) -> None:
    answer = client.get(ADDRESS)
    assert answer.content == content
    assert int(answer["Content-Length"]) == len(content)
    assert answer["Content-Type"].startswith("text/javascript")
    assert "max-age=31536000" in answer["Cache-Control"]


def test_a_range_is_sent_alone(client: Client, content: bytes) -> None:
    answer = client.get(ADDRESS, headers={"range": "bytes=100-199"})
    assert answer.status_code == 206
    assert answer.content == content[100:200]
    assert answer["Content-Range"] == f"bytes 100-199/{len(content)}"


def test_a_range_beyond_the_end_is_refused(client: Client) -> None:
    assert client.get(ADDRESS, headers={"range": "bytes=99999999-"}).status_code == 416


def test_a_head_request_has_the_headers_alone(client: Client, content: bytes) -> None:
    answer = client.head(ADDRESS)
    assert answer.content == b""
    assert int(answer["Content-Length"]) == len(content)


def test_a_browser_that_has_the_file_is_sent_no_body(client: Client) -> None:
    date = client.get(ADDRESS)["Last-Modified"]
    answer = client.get(ADDRESS, headers={"if-modified-since": date})
    assert (answer.status_code, answer.content) == (304, b"")


def test_a_file_is_not_written(client: Client) -> None:
    assert client.post(ADDRESS).status_code == 405


def test_a_path_without_a_file_is_the_site_s_own_404(client: Client, db: None) -> None:
    assert client.get(f"{site.STATIC_URL}js/none.js").status_code in (302, 404)
