"""A long list is shown before its counts, which its page asks for."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from tests.builders.runs import build_run
from webapp.runs.models import Run
from webapp.trajectories import listing
from webapp.trajectories.models import Trajectory


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch, rows: list[Trajectory]) -> None:
    """32 trajectories are too many to be counted at once."""
    monkeypatch.setattr(listing, "COUNTED_AT_ONCE", 31)


def counts_address(page: str) -> str:
    [found] = re.findall(r'data-late="([^"]+)"', page)
    return found.replace("&amp;", "&")


@pytest.mark.parametrize("query", ["", "success=yes", "step=2&kept=kept", "q=hole&sort=-return"])
def test_the_counts_of_a_long_list_are_those_of_a_short_one(
    browser: Client, run: Run, rows: list[Trajectory], monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    address = f"/runs/{run.pk}/trajectories/?{query}"
    short = browser.get(address)
    monkeypatch.setattr(listing, "COUNTED_AT_ONCE", 31)
    long = browser.get(address)
    assert long.context["counts"] is None
    assert [row.pk for row in long.context["page"].rows] == [row.pk for row in short.context["page"].rows]
    late = browser.get(counts_address(long.content.decode()))
    assert late.context["counts"] == short.context["counts"]
    for part in parts(late.content.decode()):
        assert part in " ".join(short.content.decode().split())


def parts(page: str) -> list[str]:
    return [" ".join(found.split()) for found in re.findall(r"<div[^>]* data-part=.*?</div>", page, re.DOTALL)]


@pytest.mark.usefixtures("long")
def test_a_long_list_reads_no_row_to_count_it(browser: Client, run: Run) -> None:
    with CaptureQueriesContext(connection) as queried:
        page = browser.get(f"/runs/{run.pk}/trajectories/").content.decode()
    assert not [query for query in queried.captured_queries if "AVG(" in query["sql"]]
    assert "Counting what matches, of 32 trajectories" in page
    assert "Export all, at most 5000" in page
    assert "js/lists/late_parts" in page


def test_a_short_list_asks_for_nothing(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    page = browser.get(f"/runs/{run.pk}/trajectories/").content.decode()
    assert "data-late" not in page
    assert "js/lists/late_parts" not in page


@pytest.mark.usefixtures("long")
def test_counts_of_a_step_offer_its_two_splits_side_by_side(browser: Client, run: Run) -> None:
    run.trajectories.filter(group=0).update(split="validation")
    page = browser.get(f"/runs/{run.pk}/trajectories/?step=1").content.decode()
    late = browser.get(counts_address(page)).content.decode()
    assert "side by side" in late
    assert f"/runs/{run.pk}/trajectories/compare/?ids=" in late


@pytest.mark.usefixtures("long")
def test_counts_over_all_runs_follow_too(browser: Client, run: Run) -> None:
    page = browser.get(f"/trajectories/?run={run.pk}&success=yes").content.decode()
    solved = run.trajectories.filter(success=True).count()
    assert f"{solved} of 32 trajectories" in browser.get(counts_address(page)).content.decode()


@pytest.mark.usefixtures("long")
def test_hostile_filters_are_escaped_in_the_address_of_the_counts(browser: Client, run: Run) -> None:
    hostile = '"><script>alert(1)</script>'
    page = browser.get(f"/runs/{run.pk}/trajectories/", {"environment": hostile}).content.decode()
    assert "<script>alert" not in page
    assert escape(hostile) not in counts_address(page)


def test_counts_of_a_run_that_is_not_there_are_not_found(browser: Client) -> None:
    build_run(name="another")
    assert browser.get("/runs/nothere/trajectories/counts/").status_code == 404
