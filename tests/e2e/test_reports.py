"""A report from a comparison to its shared link, in a browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.builders.recorded_run import RecordedRun
from tests.e2e.charts import SUCCESS, page
from tests.e2e.open_site import needs_chromium
from tests.e2e.threads import in_thread

__all__ = ["page"]

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]


def recorded() -> RecordedRun:
    made = RecordedRun(name="calm-otter")
    made.take_steps(20)
    made.deliver()
    return made


def test_a_comparison_becomes_a_report_that_anyone_with_its_link_can_read(page: Page) -> None:
    run = in_thread(recorded).run
    page.goto(f"/compare/?runs={run.pk}&metrics=rollout/success&smoothing=0.5")
    expect(page.locator(f"{SUCCESS} .chart-plot")).to_be_visible()
    page.get_by_role("link", name="Save as report").click()
    text = page.get_by_label("Text")
    expect(text).to_have_value(re.compile(rf"^```chart\n/compare/\?runs={run.pk}&metrics=rollout/success"))
    expect(page.locator("#report-body svg .report-line")).to_have_count(1)
    page.get_by_label("Title").fill("What the otter learned")
    expect(page.locator("#report-body table")).to_have_count(1)  # of last values
    text.press("Control+End")
    text.type("\n## Result\n<script>alert(1)</script>")
    expect(page.locator("#report-body h3")).to_have_text("Result")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(re.compile(r"/reports/\d+/$"))
    page.get_by_text("Share", exact=True).click()
    page.get_by_role("button", name="Create a link").click()
    link = page.get_by_label("Shared link").input_value()
    page.context.clear_cookies()
    page.goto(link)
    expect(page.get_by_role("heading", name="What the otter learned")).to_be_visible()
    expect(page.locator("svg .report-line")).to_have_count(1)
    expect(page.get_by_role("link", name="Compare")).to_have_count(0)
