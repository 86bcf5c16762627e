"""Rows of the queue are moved by dragging and by keys, and stay where they were put."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tests.e2e.open_site import needs_chromium, open_site
from tests.webapp.runs.test_queue import a_queue

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]


def expect_order(page: Page, *names: str) -> None:
    expect(page.locator("#queue-rows tr td[data-label=Run] > a")).to_have_text(list(names))


def test_a_row_is_dragged_and_moved_by_keys_and_stays_there(settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = tmp_path / "runs"
    a_queue("ant", "bee", "cat")
    with open_site(settings, patience=30_000) as page:
        page.goto("/queue/")
        expect(page.locator("#live")).to_have_text("live")
        handles = page.locator("[data-handle]")
        source, target = handles.nth(2).bounding_box(), handles.nth(0).bounding_box()
        assert source and target
        page.mouse.move(source["x"] + 5, source["y"] + 5)
        page.mouse.down()
        page.mouse.move(target["x"] + 5, target["y"] - 10, steps=8)
        page.mouse.up()
        expect_order(page, "cat", "ant", "bee")
        expect(page.locator("#queue-said")).to_have_text("cat is now number 1 of 3.")

        handle = page.get_by_role("button", name="Move cat: drag, or press the arrow keys")
        handle.focus()
        handle.press("ArrowDown")
        expect_order(page, "ant", "cat", "bee")
        expect(handle).to_be_focused()
        handle.press("End")
        expect_order(page, "ant", "bee", "cat")
        page.reload()
        expect_order(page, "ant", "bee", "cat")
