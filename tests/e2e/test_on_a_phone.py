"""Names and texts without a break opportunity: on a phone no page is wider than its window."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tests.e2e.open_requests import OpenRequests
from tests.e2e.open_site import needs_chromium, open_site
from tests.webapp.world import ALERT_SEQ, World, make_world

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

PATIENCE = 30_000  # ms; the test machine may be busy
VIEWS = (
    "overview", "collapse", "filter", "rollouts", "panels", "metrics", "config", "log", "checkpoints", "control",
    "alerts",
)  # fmt: skip
STICKING_OUT = """() => [...document.querySelectorAll('body *')].filter(one => {
  for (let at = one.parentElement; at && at !== document.body; at = at.parentElement)
    if (getComputedStyle(at).overflowX !== 'visible') return false;
  return one.getBoundingClientRect().right > innerWidth + 1;
}).map(one => `${one.tagName}.${one.className}#${one.id}`).slice(0, 5)"""


@pytest.fixture
def world(transactional_db: None, settings: Settings, tmp_path: Path) -> World:
    settings.STARBOARD_DATA_DIR = tmp_path
    settings.RUNS_DIR = str(tmp_path / "runs")
    return make_world(name="W" * 80, text="thought " + "L" * 300)


def addresses(world: World) -> list[str]:
    run, what_ifs = f"/runs/{world.run.pk}", f"/runs/{world.run.pk}/what-ifs"
    trajectory, environment = world.trajectories[0].pk, f"/environments/{world.environment.pk}"
    return [
        "/runs/", "/runs/new/", f"/runs/new/?clone={world.run.pk}", *(f"{run}/#{view}" for view in VIEWS),
        f"{run}/trajectories/", "/trajectories/", "/trajectories/?q=thought", f"{run}/trajectories/{trajectory}/",
        f"{run}/trajectories/compare/?ids={trajectory}", f"{run}/alerts/{ALERT_SEQ}/", f"{what_ifs}/of/{trajectory}/",
        f"{what_ifs}/{world.what_if.pk}/", "/environments/", f"{environment}/", f"{environment}/edit/",
        f"{environment}/preflight/", "/leaderboard/",
        f"/compare/?runs={world.run.pk}", "/settings/notifications/", "/reports/", f"/reports/{world.report.pk}/",
    ]  # fmt: skip


def sticking_out(page: Page, address: str, requests: OpenRequests) -> list[str]:
    requests.load(address)
    requests.wait_for_none()
    if page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
        return []
    found: list[str] = page.evaluate(STICKING_OUT)
    return found or ["something"]


def test_long_words_wrap_instead_of_widening_a_page(world: World, settings: Settings) -> None:
    paths = addresses(world)
    with open_site(settings, width=390) as phone:
        phone.set_default_timeout(PATIENCE)
        requests = OpenRequests(phone, PATIENCE)
        phone.goto("/runs/")
        expect(phone.locator("#rows")).to_contain_text("WWW")
        assert {path: found for path in paths if (found := sticking_out(phone, path, requests))} == {}
