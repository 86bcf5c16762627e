"""A run's page that stays open: in the background it receives alerts and requests nothing else, missed time is no lag,
its log is limited, and updates move nothing while somebody types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from pytest_django import Settings

from tests.builders.recorded_run import RecordedRun
from tests.e2e.open_site import needs_chromium, open_site
from tests.e2e.threads import in_thread
from webapp.runs import services
from webapp.runs.states import EndCause, RunState

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

PATIENCE = 30_000  # ms; the test machine may be busy
HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
NOTIFIED = """
window.shown = [];
window.Notification = class extends EventTarget {
  static permission = "granted";
  static requestPermission = async () => "granted";
  constructor(title) { super(); window.shown.push(title); }
};"""
LIKE_ANDROID = """
window.Notification = class {
  static permission = "granted";
  static requestPermission = async () => "granted";
  constructor() { throw new TypeError("Illegal constructor. Use ServiceWorkerRegistration.showNotification()"); }
};"""


@pytest.fixture
def recorded(transactional_db: None, settings: Settings, tmp_path: Path) -> RecordedRun:
    """Twenty steps of sixty."""
    settings.RUNS_DIR = tmp_path / "runs"
    recorded = RecordedRun(steps=60)
    recorded.take_steps(20)
    recorded.deliver()
    return recorded


@pytest.fixture
def page(recorded: RecordedRun, settings: Settings) -> Iterator[Page]:
    with open_site(settings) as opened:
        opened.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        yield opened


def visit(page: Page, recorded: RecordedRun, at: str = "") -> None:
    page.goto(f"/runs/{recorded.run.pk}/{at}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


def test_a_run_without_a_good_checkpoint_offers_what_can_be_done_at_once(page: Page, recorded: RecordedRun) -> None:
    visit(page, recorded)
    panel = page.locator("#needs-attention")
    expect(panel).to_be_hidden()
    why = {"reason": "No checkpoint is usable: step_3.", "also": {"end_cause": EndCause.NO_GOOD_CHECKPOINT}}
    assert in_thread(lambda: services.move(recorded.run, RunState.FAILED, **why))
    expect(panel).to_contain_text("No checkpoint is usable: step_3.")
    expect(panel.get_by_role("button", name="Start over")).to_be_visible()


def deliver(recorded: RecordedRun, emit: Callable[[], None]) -> None:
    in_thread(lambda: (emit(), recorded.deliver()))


def wait_for(page: Page, script: str, patience: int = PATIENCE) -> None:
    """Until the script is true; Playwright's own way evaluates text in the page, which the content policy forbids."""
    for _ in range(patience // 100):
        if page.evaluate(script):
            return
        page.wait_for_timeout(100)
    raise AssertionError(script)


def test_a_background_tab_that_lost_its_socket_still_shows_notifications(page: Page, recorded: RecordedRun) -> None:
    lines: list[WebSocketRoute] = []

    def pass_on(line: WebSocketRoute) -> None:
        line.connect_to_server()
        lines.append(line)

    page.add_init_script(NOTIFIED)
    page.route_web_socket(re.compile("/ws/runs/"), pass_on)
    visit(page, recorded, "#alerts")
    page.evaluate(HIDE, True)
    lines[-1].close(code=1012, reason="the server restarts")
    page.wait_for_timeout(3000)  # the first delay is about half a second
    assert len(lines) == 1  # notifications are off, and the page is hidden
    page.evaluate(HIDE, False)
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.click("#browser-notify")
    expect(page.locator("#browser-notify")).to_have_text("Stop notifying me in this browser")
    page.evaluate(HIDE, True)
    lines[-1].close(code=1012, reason="the server restarts")
    deliver(recorded, lambda: recorded.raise_alert("It fell."))
    wait_for(page, "window.shown.includes('warn: calm-otter-12')", 10_000)


def test_a_browser_without_notifications_shows_a_note_and_keeps_drawing(page: Page, recorded: RecordedRun) -> None:
    page.add_init_script(LIKE_ANDROID)
    page.add_init_script("localStorage.setItem('starboard-notify', 'on')")
    visit(page, recorded, "#alerts")
    deliver(recorded, lambda: recorded.raise_alert("It fell."))
    expect(page.locator("#alert-list")).to_contain_text("It fell.")
    page.evaluate("localStorage.setItem('starboard-notify', 'off')")  # the initial state of a browser
    page.click("#browser-notify")
    expect(page.locator("#browser-notify-note")).to_contain_text("Pages cannot show notifications in this browser")
    expect(page.locator("#browser-notify")).to_be_hidden()


def test_events_from_before_the_tab_was_visible_do_not_count_as_lag(page: Page, recorded: RecordedRun) -> None:
    visit(page, recorded)
    deliver(recorded, lambda: recorded.take_steps(1))
    expect(page.locator("#lag")).to_have_attribute("data-count", "1")
    page.evaluate(HIDE, True)
    deliver(recorded, lambda: recorded.take_steps(3))
    page.wait_for_timeout(3000)
    page.evaluate(HIDE, False)
    expect(page.locator("#step")).to_have_text("24/60")
    deliver(recorded, lambda: recorded.take_steps(1))
    expect(page.locator("#lag")).to_have_attribute("data-count", "2")


def test_the_newest_trajectories_are_requested_only_while_visible(page: Page, recorded: RecordedRun) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url) if "/latest/" in request.url else None)

    def record() -> None:
        recorded.take_steps(1)
        path = f"trajectories/train/step_{recorded.step}.jsonl.zst"
        recorded.emit("trajectories_recorded", split="train", path=path, count=1)

    visit(page, recorded, "#alerts")
    deliver(recorded, record)
    expect(page.locator("#step")).to_have_text("21/60")
    page.wait_for_timeout(2500)  # updates are merged for 1.5 s
    assert requested == []
    with page.expect_request(re.compile("/latest/")):
        page.click("#tab-overview")
    page.evaluate(HIDE, True)
    deliver(recorded, record)
    page.wait_for_timeout(2500)
    assert len(requested) == 1
    with page.expect_request(re.compile("/latest/")):
        page.evaluate(HIDE, False)


def test_the_log_stays_where_it_is_read_and_drops_old_lines_once_it_is_followed_again(
    page: Page, recorded: RecordedRun
) -> None:
    log = recorded.run.directory / "engine.log"
    log.write_text("".join(f"line {number}\n" for number in range(1, 4801)))
    visit(page, recorded, "#log")
    shown, lines = page.locator("#log-box"), page.locator("#log-box .log-line")
    expect(shown).to_contain_text("line 4800")
    expect(page.locator("#log-older")).to_be_hidden()
    shown.evaluate("log => { log.scrollTop = 2000 * 18; }")  # 12 px at 1.5: line 2001 is the first one visible
    expect(page.locator("#log-follow")).not_to_be_checked()
    with log.open("a") as file:
        file.writelines(f"line {number}\n" for number in range(4801, 24_000))
        file.write("2026-01-02T03:04:05.678Z ERROR line 24000\n")
    expect(page.locator("#log-state")).to_have_text("Not following: 19200 new lines below")
    assert shown.evaluate("log => log.scrollTop") == 2000 * 18
    page.locator("#log-follow").check()
    with log.open("a") as file:
        file.write("line 24001")
    expect(lines.last.locator(".log-text")).to_have_text("line 24001")  # although its newline is still to come
    expect(page.locator("#log-older")).to_be_visible()
    kept = lines.count()
    assert 5000 <= kept < 15_000
    page.locator("#log-search").fill("LINE 24")
    expect(page.locator("#log-hits")).to_have_text(f"2 of 2 hits in {kept} loaded lines")
    page.locator("#log-level").select_option("error")
    expect(page.locator("#log-box .log-line:visible")).to_have_count(1)
    expect(page.locator("#log-hits")).to_have_text("1 hit in 1 loaded line")
    page.locator("#log-level").select_option("debug")
    page.locator("#log-older").click()
    expect(lines).not_to_have_count(kept)


def test_an_alert_moves_neither_the_focus_nor_the_form_being_edited(page: Page, recorded: RecordedRun) -> None:
    in_thread(lambda: (recorded.raise_alert("The first."), recorded.deliver()))
    visit(page, recorded, "#alerts")
    evidence = page.locator("#alert-list a", has_text="Evidence").first
    evidence.focus()
    deliver(recorded, lambda: recorded.raise_alert("The second."))
    expect(page.locator("#alert-list li")).to_have_count(2)
    expect(page.locator("#alert-list li").last.get_by_role("link", name="Evidence")).to_be_focused()
    for count, offset in ((3, 0), (4, 200)):  # at the top of the page, and further down
        page.locator("#rule-preset").focus()
        page.evaluate("offset => scrollTo(0, offset)", offset)
        top = "document.querySelector('#rule-preset').getBoundingClientRect().top"
        before = page.evaluate(top)
        deliver(recorded, lambda: recorded.raise_alert("Another."))
        expect(page.locator("#alert-list li")).to_have_count(count)
        page.wait_for_timeout(200)
        assert page.evaluate(top) == pytest.approx(before, abs=1)
        expect(page.locator("#rule-preset")).to_be_focused()
