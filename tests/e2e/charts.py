"""What chart tests share: a page with long timeouts, a run of twenty steps, charts once they are drawn, and
dragging."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from pytest_django import Settings

from tests.builders.recorded_run import RecordedRun
from tests.e2e.open_site import open_site
from tests.e2e.threads import in_thread

PATIENCE = 60_000  # ms; the test machine may be busy
PLOT = ".chart-plot"
SUCCESS, NORM, ENTROPY = (f'[data-chart="{name}"]' for name in ("rollout/success", "optim/grad_norm", "policy/entropy"))


@pytest.fixture
def page(transactional_db: None, settings: Settings, tmp_path: Path) -> Iterator[Page]:
    settings.RUNS_DIR = tmp_path / "runs"
    with open_site(settings, patience=PATIENCE) as opened:
        yield opened


def recorded_run(alert: str = "") -> RecordedRun:
    """Twenty steps of sixty with held-out points at 10 and 20, and an alert at 12 if it is given."""

    def record() -> RecordedRun:
        recorded = RecordedRun(steps=60)
        recorded.take_steps(12)
        if alert:
            recorded.raise_alert(alert)
        recorded.take_steps(8)
        recorded.deliver()
        return recorded

    return in_thread(record)


def visit(page: Page, recorded: RecordedRun, at: str = "") -> None:
    """The run's page, once it is live."""
    page.goto(f"/runs/{recorded.run.pk}/{at}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


def drawn(page: Page, chart: str) -> Locator:
    """The plot of a chart of a run's page, once it has a line."""
    expect(page.locator(f"{chart} .scatterlayer .trace").first).to_be_attached()
    return page.locator(f"{chart} {PLOT}")


def drag(page: Page, chart: str, start: float, end: float) -> None:
    """Drags from one fraction of a chart's width to another."""
    box = page.locator(f"{chart} .nsewdrag").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, middle, steps=5)
    page.mouse.up()
