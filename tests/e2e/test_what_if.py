"""What-ifs in a browser, with a real engine: from the reader to the result alongside the original."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from pytest_django import Settings

from tests.builders.small_run import add_small_run, make_small_run
from tests.e2e.open_site import needs_chromium, open_site
from tests.webapp.live.sockets import layers
from tests.workers.conftest import redis_url
from webapp.whatif.models import WhatIf
from workers.tasks import play_job
from workers.what_if import HeldWhatIf

__all__ = ["redis_url"]

pytestmark = [pytest.mark.e2e, pytest.mark.slow, needs_chromium, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_small_run(tmp_path_factory.mktemp("runs") / "arun")


def off_the_loop(work: Any) -> Any:
    """The browser's loop runs in this thread, where the database must not be used."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def test_a_what_if_with_another_action_is_shown_alongside_the_original(
    transactional_db: None, settings: Settings, trained: Path, redis_url: str
) -> None:
    settings.RUNS_DIR = str(trained.parent)
    settings.CHANNEL_LAYERS = layers(redis_url)
    asked_for: list[str] = []  # over HTTP
    row = add_small_run(trained)
    with open_site(settings) as page:
        page.goto(f"/runs/arun/trajectories/{row.pk}/")
        expect(page.locator("#reader-turn h2")).to_be_visible()
        page.click("#reader-what-if")
        page.check("[name=edit][value=action]")
        page.fill("#what-if-action", "Nowhere")
        page.on("request", lambda request: asked_for.append(request.url))
        page.click("text=Continue rollout")
        expect(page).to_have_url(re.compile(r"/what-ifs/\d+/$"))
        expect(page.locator("#what-if-status")).to_have_text("Queued")
        expect(page.locator("#what-if-turn-0 article").first).to_contain_text("reward")
        off_the_loop(lambda: play_job(HeldWhatIf, WhatIf.objects.get().pk))
        expect(page.locator("#what-if-status")).to_have_text("Finished")
        forked = page.locator("#what-if-turn-0 article").nth(1)
        expect(forked).to_contain_text("no action executed")
        expect(forked).to_contain_text("unknown action")
        expect(page.locator(".what-if-row--diverges h3")).to_have_text("Turn 1: diverges here, in the actions")
        expect(page.locator("#what-if-message")).to_contain_text("What-if: ")
        expect(page.locator("#what-if-stop")).to_have_count(0)
        page.click("#what-if-fork")
        expect(page.locator(".what-if-state .panel-title")).to_contain_text("Turn 1 of")
        page.click("text=Continue rollout")
        expect(page.locator("#what-if-status")).to_have_text("Queued")
        off_the_loop(lambda: play_job(HeldWhatIf, WhatIf.objects.order_by("pk")[1].pk))
        expect(page.locator("#what-if-status")).to_have_text("Finished")
        expect(page.locator(".what-if-chain")).to_contain_text("this what-if at turn 1 (nothing)")
        expect(page.locator("#what-if-turn-0 article").first).to_contain_text("no action executed")
        expect(page.locator("#what-if-message")).to_contain_text("Parent what-if: ")
    assert not [url for url in asked_for if "events.json" in url]  # everything was pushed


def test_a_what_if_with_another_prompt_gets_a_response(
    transactional_db: None, settings: Settings, trained: Path, redis_url: str
) -> None:
    settings.RUNS_DIR = str(trained.parent)
    settings.CHANNEL_LAYERS = layers(redis_url)
    row = add_small_run(trained)
    with open_site(settings) as page:
        page.goto(f"/runs/arun/trajectories/{row.pk}/")
        expect(page.locator("#reader-turn h2")).to_be_visible()
        page.click("#reader-what-if")
        page.check("[name=edit][value=prompt]")
        prompt = page.locator("#what-if-prompt").input_value()
        edited = prompt.replace("<|im_end|>", " Mind the holes.<|im_end|>", 1)
        assert edited != prompt
        page.fill("#what-if-prompt", edited)
        page.select_option("#what-if-checkpoint", "step_1")
        page.click("text=Continue rollout")
        expect(page.locator("#what-if-status")).to_have_text("Queued")
        off_the_loop(lambda: play_job(HeldWhatIf, WhatIf.objects.get().pk))
        expect(page.locator("#what-if-status")).to_have_text("Finished")
        forked = page.locator("#what-if-turn-0 article").nth(1)
        forked.locator("summary").first.click()
        expect(forked).to_contain_text("Mind the holes.")
        expect(page.locator(".what-if-row--diverges h3")).to_have_text("Turn 1: diverges here, in the prompt")
    assert off_the_loop(lambda: WhatIf.objects.get().summary["turns"]) >= 1
