"""A long list of trajectories in a browser: rows first, then what they count."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from pytest_django import Settings

from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from tests.e2e.open_site import needs_chromium, open_site
from webapp.trajectories import listing

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]


def test_counts_follow_the_rows_of_a_long_list(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RUNS_DIR = str(tmp_path / "runs")
    monkeypatch.setattr(listing, "COUNTED_AT_ONCE", 15)
    run = build_run()
    record_steps(run, run.parsed_config().environments[0], steps=range(1, 2))  # 16 trajectories
    solved = run.trajectories.filter(success=True).count()
    with open_site(settings) as page:
        page.route(re.compile("/counts/"), lambda route: None)  # the server is still counting
        page.goto(f"/runs/{run.pk}/trajectories/?success=yes")
        expect(page.locator("tbody a[data-opens]")).to_have_count(solved)
        expect(page.get_by_text("Counting what matches, of 16 trajectories")).to_be_visible()
        page.unroute(re.compile("/counts/"))
        page.reload()
        expect(page.get_by_text(f"{solved} of 16 trajectories")).to_be_visible()
        expect(page.get_by_role("link", name=f"Export all {solved}")).to_be_visible()
        expect(page.get_by_text("Counting")).to_have_count(0)
        page.route(re.compile("/counts/"), lambda route: route.abort())
        page.reload()
        expect(page.get_by_text("The counts did not arrive. Reload the page to try again.")).to_be_visible()
