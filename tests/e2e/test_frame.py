"""What every page has: the palette and the theme answer the first key, forms make short addresses, and pages that are
one panel have one heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from tests.e2e.open_site import needs_chromium, open_site

PATIENCE = 30_000  # ms; the test machine may be busy

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]


def test_one_escape_closes_the_palette_also_while_it_has_text(transactional_db: None, settings: Settings) -> None:
    with open_site(settings, patience=PATIENCE) as page:
        page.goto("/environments/")
        page.keyboard.press("Control+k")
        page.keyboard.type("leaderboard")
        expect(page.get_by_role("option")).to_have_count(2)  # the page, and a search
        page.keyboard.press("Escape")
        expect(page.locator("#palette")).to_be_hidden()


@pytest.mark.parametrize(
    ("system", "seen"), [("light", ["dark", "light", "light"]), ("dark", ["light", "dark", "dark"])]
)
def test_the_first_t_changes_the_theme_that_is_seen(
    transactional_db: None, settings: Settings, system: str, seen: list[str]
) -> None:
    with open_site(settings, patience=PATIENCE) as page:
        page.emulate_media(color_scheme=system)  # type: ignore[arg-type]
        page.goto("/environments/")
        expect(page.locator("html")).to_have_attribute("data-theme", system)
        for chosen, theme in zip([*seen[:2], "system"], seen, strict=True):
            page.keyboard.press("t")
            expect(page.locator("html")).to_have_attribute("data-chosen-theme", chosen)
            expect(page.locator("html")).to_have_attribute("data-theme", theme)


def test_a_search_has_only_the_fields_that_were_filled_in_its_address(
    transactional_db: None, settings: Settings, tmp_path: Path
) -> None:
    settings.RUNS_DIR = str(tmp_path / "runs")
    run = build_run()
    record_steps(run, run.parsed_config().environments[0], steps=range(1, 2))
    with open_site(settings, patience=PATIENCE) as page:
        page.goto(f"/runs/{run.pk}/trajectories/")
        page.fill("[name=q]", "thought")
        page.select_option("[name=success]", "no")
        page.get_by_role("button", name="Show").click()
        expect(page).to_have_url(re.compile(r"/trajectories/\?q=thought&success=no$"))
        page.fill("[name=q]", "")
        page.select_option("[name=success]", "")
        page.get_by_role("button", name="Show").click()
        expect(page).to_have_url(re.compile(r"/trajectories/\??$"))


@pytest.mark.parametrize("address", ["/accounts/login/", "/accounts/sign-in/?token=none", "/nowhere/"])
def test_a_page_of_one_panel_has_one_heading_and_narrow_fields(
    transactional_db: None, settings: Settings, address: str
) -> None:
    with open_site(settings, patience=PATIENCE) as page:
        page.context.clear_cookies()
        page.goto(address)
        expect(page.locator("h1")).to_have_count(1)
        assert widest_field(page) <= 400


def widest_field(page: Page) -> float:
    widths = page.locator("main input:not([type=hidden])").evaluate_all("all => all.map(one => one.offsetWidth)")
    return max(widths, default=0.0)


def test_the_palette_does_what_the_buttons_and_tabs_of_the_page_do(
    transactional_db: None, settings: Settings, tmp_path: Path
) -> None:
    settings.RUNS_DIR = str(tmp_path / "runs")
    run = build_run()
    with open_site(settings, patience=PATIENCE) as page:
        page.goto(f"/runs/{run.pk}/")
        expect(page.locator("#view-collapse")).to_be_hidden()
        page.keyboard.press("Control+k")
        expect(page.locator("#palette-list [aria-selected=true]")).to_contain_text("Runs")  # Enter alone does nothing
        page.keyboard.type("show coll")
        expect(page.locator("#palette-list [role=option]").first).to_contain_text("Show Collapse")
        page.keyboard.press("Enter")
        expect(page.locator("#palette")).to_be_hidden()
        expect(page.locator("#view-collapse")).to_be_visible()


def test_the_palette_leads_to_a_metric_and_to_a_preset(transactional_db: None, settings: Settings) -> None:
    with open_site(settings, patience=PATIENCE) as page:
        page.goto("/environments/")
        page.keyboard.press("Control+k")
        page.keyboard.type("optim/grad_norm")
        expect(page.locator("#palette-list [role=option]").first).to_contain_text("Gradient norm")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        expect(page.locator("#optim-grad-norm")).to_be_in_viewport()
        page.get_by_label("Find a metric").fill("dual-clip")
        expect(page.locator(".glossary-entry:visible")).to_have_count(1)
        page.keyboard.press("Escape")
        page.keyboard.press("Control+k")
        page.keyboard.type("new run: watch")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.url.endswith("/runs/new/?preset=collapse")
