"""A two by two sweep, from the form of a run to the effects on its page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect
from pytest_django import Settings

from engine.config import EnvironmentConfig
from tests.e2e.open_site import needs_chromium, open_site
from tests.e2e.threads import in_thread
from tests.webapp.sweeps.sweeping import finish
from webapp.environments.services import define
from webapp.sweeps.models import Sweep

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]


def train() -> None:
    finish(Sweep.objects.get(), lambda row: 60 + 10 * row.seed - 40 * bool(row.changes["loss.kl_coefficient"]))


def test_a_two_by_two_sweep_is_made_and_its_page_shows_the_effects(settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = tmp_path / "runs"
    define(name="FrozenLake", config=EnvironmentConfig.model_validate({"kind": "frozen_lake", "tag": "FrozenLake"}))
    with open_site(settings, patience=30_000) as page:
        page.goto("/runs/new/")
        page.get_by_role("button", name="Sweep over …").click()
        page.wait_for_url("**/sweeps/new/**")
        first = page.locator(".sweep-axis").first
        first.get_by_label("Field or name").fill("loss.kl_coefficient")
        first.get_by_label("Values, separated by commas").fill("0, 0.1")
        expect(first).to_contain_text("Loss: KL coefficient")
        page.get_by_role("button", name="Add an axis").click()
        second = page.locator(".sweep-axis").nth(1)
        second.get_by_label("Field or name").fill("rollout.think")
        second.get_by_label("Values, separated by commas").fill("true, false")
        page.get_by_label("Training seeds").fill("1-2")
        page.get_by_label("Name", exact=True).fill("KL and thoughts")
        expect(page.locator("#sweep-preview dd strong")).to_have_text("8")
        expect(page.locator("#sweep-preview tbody tr")).to_have_count(4)
        page.get_by_role("button", name="Launch the sweep").click()
        expect(page.locator("h1")).to_have_text("KL and thoughts")
        expect(page.locator("[data-part=progress]")).to_contain_text("0 of 8 runs")

        expect(page.locator("#live")).to_have_text("live")
        in_thread(train)
        expect(page.locator("[data-part=progress]")).to_contain_text("8 of 8 runs")
        expect(page.locator(".sweep-best .sweep-figure")).to_contain_text("0.75")
        expect(page.locator(".sweep-heat .heat")).to_have_count(4)
        expect(page.locator(".sweep-effect .errorbar")).to_have_count(4)
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
