"""Rollouts are uploaded in a browser, and a real engine reads them: the page of the import follows it live."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from pytest_django import Settings

from tests.e2e.open_site import needs_chromium, open_site
from tests.e2e.test_suites import off_the_loop
from tests.engine.foreign.test_rollouts import verl
from tests.webapp.live.sockets import layers
from tests.workers.conftest import redis_url
from webapp.launching.models import RolloutImport
from workers.imports import HeldImport
from workers.tasks import play_job

__all__ = ["redis_url"]

pytestmark = [pytest.mark.e2e, pytest.mark.slow, needs_chromium, pytest.mark.django_db(transaction=True)]


def test_an_uploaded_file_becomes_a_run_while_its_page_is_open(
    transactional_db: None, settings: Settings, tmp_path: Path, redis_url: str
) -> None:
    settings.STARBOARD_DATA_DIR = tmp_path
    settings.RUNS_DIR = tmp_path / "runs"
    settings.STARBOARD_ENGINE_COMMAND = None
    settings.CHANNEL_LAYERS = layers(redis_url)
    file = tmp_path / "20.jsonl"
    file.write_text("\n".join([verl(score=1), verl(score=0), "<b>no rollout</b>"]))
    with open_site(settings) as page:
        page.goto("/runs/import/")
        page.set_input_files("#import-file", str(file))
        page.fill("#import-name", "from verl")
        page.click("#import-form button:text-is('Import')")
        expect(page).to_have_url(re.compile(r"/imports/\d+/$"))
        expect(page.locator("[data-part=progress]")).to_contain_text("0 of 3 lines read")
        expect(page.locator("[data-part=actions] button")).to_have_text("Stop")
        expect(page.locator("#live")).to_have_text("live")
        off_the_loop(lambda: play_job(HeldImport, RolloutImport.objects.get().pk))
        expect(page.locator("[data-part=progress]")).to_contain_text("2 accepted")  # pushed
        expect(page.locator("[data-part=errors]")).to_contain_text("20.jsonl line 3: it is not JSON")
        expect(page.locator("[data-part=actions]")).to_contain_text("Import more")
        page.click("[data-part=progress] a.button--primary")
        expect(page.locator("h1")).to_contain_text("from verl")
        page.goto("/runs/import/")
        expect(page.locator("main")).to_contain_text("Recent imports")
