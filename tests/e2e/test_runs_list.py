"""The list of runs in a browser: it follows the runs, and updates do not take the focus or the selection."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from playwright.sync_api import expect
from pytest_django import Settings

from tests.builders.recorded_run import RecordedRun
from tests.builders.runs import build_run
from tests.e2e.open_site import needs_chromium, open_site
from webapp.runs.models import Run
from webapp.runs.states import RunState

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

PATIENCE = 30_000  # ms; the test machine may be busy


@pytest.fixture
def runs(transactional_db: None, settings: Settings, tmp_path: Path) -> list[RecordedRun]:
    """Two runs of three steps, the newest first, as they are listed."""
    settings.RUNS_DIR = tmp_path / "runs"
    made = [RecordedRun(name=name, steps=60) for name in ("calm-otter-1", "still-heron-2")]
    for recorded in made:
        recorded.take_steps(3)
        recorded.deliver()
    return made[::-1]


def off_the_loop(work: Any) -> None:
    """Writes rows in another thread: this one drives the browser."""
    with ThreadPoolExecutor(1) as writer:
        writer.submit(work).result()


def test_keyboard_focus_moves_through_the_rows_despite_updates(runs: list[RecordedRun], settings: Settings) -> None:
    first, second = runs
    with open_site(settings) as page:
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        page.goto("/runs/")
        expect(page.locator("#live")).to_have_attribute("data-state", "live")
        links = page.locator("#rows td.run-name a")
        page.keyboard.press("j")
        expect(links.nth(0)).to_be_focused()
        page.keyboard.press("j")
        expect(links.nth(1)).to_be_focused()
        off_the_loop(lambda: (second.take_steps(2), second.deliver()))
        expect(page.locator("#rows tr").nth(1)).to_contain_text("5/60")
        expect(links.nth(1)).to_be_focused()
        page.keyboard.press("k")
        expect(links.nth(0)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#run-name")).to_have_text(first.run.name)


def test_health_and_end_of_a_run_are_shown_without_a_reload(runs: list[RecordedRun], settings: Settings) -> None:
    first, _ = runs
    with open_site(settings) as page:
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        page.goto("/runs/")
        expect(page.locator("#live")).to_have_attribute("data-state", "live")
        row = page.locator("#rows tr").nth(0)
        expect(row.locator(".run-health")).to_have_text("Too early to tell")
        off_the_loop(lambda: (first.succeed(*[0.3] * 3, *[0.0] * 3), first.deliver()))
        expect(row.locator(".run-health .chip--dead")).to_have_text("Collapsed")
        off_the_loop(first.finish)
        expect(row.locator(".run-state .chip--collapsed")).to_have_text("Finished · collapsed")
        page.keyboard.press("Control+k")
        page.locator("#palette-input").fill(first.run.name)
        expect(page.locator("#palette-0")).to_contain_text(f"{first.run.name}Finished · collapsed")


def test_the_list_follows_runs_that_keep_reporting_steps(runs: list[RecordedRun], settings: Settings) -> None:
    first, _ = runs
    requested: list[str] = []
    ended = Event()

    def train() -> None:
        while not ended.is_set():
            first.take_steps(1)
            first.deliver()
            ended.wait(0.05)  # less than the 0.4 s in which updates are merged

    with open_site(settings) as page, ThreadPoolExecutor(1) as writer:
        page.goto("/runs/")
        expect(page.locator("#live")).to_have_attribute("data-state", "live")
        page.on("request", lambda request: requested.append(request.url))
        training = writer.submit(train)
        page.wait_for_timeout(3000)
        while_training = [url for url in requested if "/rows/" in url]
        ended.set()
        training.result()
        assert while_training


def test_a_configuration_unfolds_in_place_and_its_box_ticks_its_runs(
    runs: list[RecordedRun], settings: Settings
) -> None:
    with open_site(settings) as page:
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        page.goto("/runs/?as=configuration")
        fold = page.get_by_role("link", name="2 runs")
        expect(page.locator("#rows tr")).to_have_count(1)
        page.locator("#rows input").check()
        expect(page.locator("#picked")).to_have_text("2 selected:")
        fold.click()
        expect(page.locator("#rows tr")).to_have_count(3)
        expect(fold).to_have_attribute("aria-expanded", "true")
        assert "open=" in page.url
        page.locator("#rows [data-members]").check()
        expect(page.locator("#rows input[name=run]:checked")).to_have_count(2)
        page.get_by_text("Tags and project").click()
        page.get_by_label("Tags", exact=True).fill("sweep")
        page.get_by_label("Tags", exact=True).press("Enter")
        expect(page.get_by_text("Tagged 2 runs.")).to_be_visible()
        expect(page.locator("#rows .tag")).to_have_text(["sweep", "sweep"])  # unfolded as before


def test_a_queued_run_is_moved_by_keyboard_and_the_run_that_it_waits_for_is_linked(
    runs: list[RecordedRun], settings: Settings
) -> None:
    waiting, holder = runs
    for recorded, state in ((waiting, "queued"), (holder, "paused")):
        Run.objects.filter(pk=recorded.run.pk).update(state=state)
    last = build_run(name="eager-wren", state=RunState.QUEUED)
    with open_site(settings) as page:
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        page.goto("/runs/?show=live")
        row = page.locator(f"tr[data-run='{last.pk}']")
        expect(row).to_contain_text("2nd of 2 in the queue. Waits for calm-otter-1, which is paused and holds the slot")
        row.get_by_role("button", name="Move eager-wren to the head of the queue").focus()
        page.keyboard.press("Enter")
        expect(row).to_contain_text("1st of 2 in the queue")
        expect(page).to_have_url("/runs/?show=live")
        row.get_by_role("link", name="eager-wren").click()
        expect(page.locator("#verdict-reason a")).to_have_text("calm-otter-1")
        page.get_by_role("button", name="Move down").click()
        expect(page.locator("#verdict-reason")).to_contain_text("2nd of 2 in the queue")
