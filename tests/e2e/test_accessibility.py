"""What axe finds on every page, wide and light, and dark and as narrow as a phone: nothing serious."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from pytest_django import Settings

from tests.e2e.open_site import needs_chromium, open_site
from tests.webapp.world import World, make_world

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

GRAVE = ("serious", "critical")
RUN_VIEWS = ("collapse", "filter", "optimisation", "rollouts", "throughput", "config", "log", "checkpoints", "alerts")


@pytest.fixture
def world(transactional_db: None, settings: Settings, tmp_path: Path) -> World:
    settings.RUNS_DIR = tmp_path / "runs"
    return make_world()


def addresses(world: World) -> list[str]:
    run = f"/runs/{world.run.pk}/"
    return [
        "/runs/", "/runs/new/", run, *(f"{run}#{view}" for view in RUN_VIEWS),
        f"{run}trajectories/", "/trajectories/", f"{run}trajectories/{world.trajectories[0].pk}/",
        "/environments/", f"/environments/{world.environment.pk}/", "/environments/new/?kind=frozen_lake",
        "/leaderboard/", f"/compare/?runs={world.run.pk}", "/styleguide/", "/runs/nowhere/",
    ]  # fmt: skip


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_no_page_has_a_serious_fault(
    world: World, settings: Settings, width: int, theme: Literal["light", "dark"]
) -> None:
    found = []
    with open_site(settings, width=width) as page:
        page.emulate_media(color_scheme=theme)
        for address in addresses(world):
            page.goto("about:blank")  # so that another fragment loads the page anew
            page.goto(address)
            page.wait_for_selector("#run" if "#" in address else "main")
            found += [f"{address} {fault}" for fault in grave_faults(page)]
            assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert not found, "\n".join(found)


def grave_faults(page: Page) -> list[str]:
    violations = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for one in violations
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]
