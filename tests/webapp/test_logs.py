"""What is bound appears in log lines, in the thread and block where it is bound alone."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import pytest
from django.test import Client

from webapp import logs
from webapp.logs import JsonLines, TextLines, bound


@pytest.fixture(autouse=True)
def _nothing_bound() -> Iterator[None]:
    """Requests of earlier tests had no ASGI application around them, so what they bound is still there."""
    before = logs._bound.set(logs.NOTHING)
    yield
    logs._bound.reset(before)


def line(message: str = "hello", *arguments: object, exc_info: Any = None) -> dict[str, Any]:
    record = logging.LogRecord("starboard.test", logging.WARNING, "file.py", 1, message, arguments, exc_info)
    record.created = 1_700_000_000.25
    found: dict[str, Any] = json.loads(JsonLines().format(record))
    return found


def test_a_line_has_its_time_level_logger_and_message() -> None:
    found = line("hello %s", "world")
    del found["process"]
    assert found == {
        "time": "2023-11-14T22:13:20.250+00:00",
        "level": "WARNING",
        "logger": "starboard.test",
        "message": "hello world",
    }


def test_fields_are_bound_within_their_block_alone() -> None:
    with bound(request_id="a"):
        with bound(run_id="b"):
            assert (line()["request_id"], line()["run_id"]) == ("a", "b")
        assert "run_id" not in line()
    assert "request_id" not in line()


def test_a_thread_has_what_is_bound_with_a_copy_of_the_context_alone() -> None:
    found: list[dict[str, Any]] = []
    with bound(run_id="b"):
        threads = [
            threading.Thread(target=lambda: found.append(line())),
            threading.Thread(target=copy_context().run, args=(lambda: found.append(line()),)),
        ]
        for thread in threads:
            thread.start()
            thread.join()
    assert ["run_id" in one for one in found] == [False, True]


def test_an_exception_has_its_traceback_and_text_stays_one_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        found = line("it\nfailed", exc_info=(type(error), error, error.__traceback__))
    assert found["message"] == "it\nfailed"
    assert found["exc_info"].endswith("ValueError: two\nlines")


def test_text_names_what_is_bound_before_a_traceback() -> None:
    record = logging.LogRecord("starboard.test", logging.ERROR, "file.py", 1, "hello", (), None)
    record.exc_info = (ValueError, ValueError("no"), None)
    with bound(request_id="a1", run_id="b\n2026-01-01 INFO other: line"):
        first, *rest = TextLines().format(record).splitlines()
    assert first.endswith(r'ERROR starboard.test: hello [request_id=a1 run_id="b\n2026-01-01 INFO other: line"]')
    assert rest == ["ValueError: no"]
    assert TextLines().format(record).splitlines()[0].endswith("hello")


@pytest.mark.django_db
def test_the_reference_of_an_error_page_is_the_request_id_of_its_log_lines(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.raise_request_exception = False

    def fails(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("webapp.monitoring.readiness._problem", fails)
    with bound(request_id="abc-123"):
        response = client.get("/readyz")
    assert response.status_code == 500
    assert "Reference: abc-123" in response.content.decode()
