"""A model is evaluated on a suite in a browser, with a real engine: the form, the live page, and the replay."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from pytest_django import Settings

from tests.e2e.open_site import needs_chromium, open_site
from tests.webapp.live.sockets import layers
from tests.workers.conftest import redis_url
from webapp.suites import catalogue
from webapp.suites.models import SuiteEvaluation
from workers.suite_evaluations import HeldSuiteEvaluation
from workers.tasks import play_job

__all__ = ["redis_url"]

pytestmark = [pytest.mark.e2e, pytest.mark.slow, needs_chromium, pytest.mark.django_db(transaction=True)]
SUITE = """name = "lakes"
title = "A few lakes"
[[items]]
name = "Lake"
environment = { kind = "frozen_lake", max_turns = 2, max_actions = 4 }
count = 4
"""


def off_the_loop(work: Any) -> Any:
    """The browser's loop runs in this thread, where the database must not be used."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def test_a_model_is_evaluated_from_the_form_and_its_episodes_open_in_the_replay(
    transactional_db: None, settings: Settings, tmp_path: Path, redis_url: str
) -> None:
    settings.STARBOARD_DATA_DIR = tmp_path
    settings.CHANNEL_LAYERS = layers(redis_url)
    catalogue.define(SUITE, None)
    with open_site(settings) as page:
        page.goto("/suites/")
        page.click("td a:text-is('Evaluate')")
        page.check("[name=policy][value=directory]")
        expect(page.locator("#suite-directory")).to_have_value("tiny")
        expect(page.locator("#suite-endpoint")).to_have_count(0)  # for administrators
        page.click("button:text-is('Evaluate')")
        expect(page).to_have_url(re.compile(r"/evaluations/\d+/$"))
        expect(page.locator("[data-part=summary]")).to_contain_text("0 of 4 episodes")
        expect(page.locator("#live")).to_have_text("live")
        off_the_loop(lambda: play_job(HeldSuiteEvaluation, SuiteEvaluation.objects.get().pk))
        expect(page.locator("[data-part=summary]")).to_contain_text("4 of 4 episodes")  # pushed
        expect(page.locator("[data-part=summary] .chip")).to_contain_text("Finished")
        expect(page.locator("[data-part=actions] button")).to_have_text("Evaluate again")
        page.click("[data-part=items] td a")
        expect(page.locator("tbody tr")).to_have_count(4)
        page.click("tbody tr:nth-child(2) a")
        expect(page.locator("#reader-turn h2")).to_contain_text("Turn 1 of")
        expect(page.locator("#reader-seen svg")).to_be_visible()
        page.click("[data-view=transcript]")
        expect(page.locator("#reader-transcript")).to_contain_text("Turn 1")


def test_a_suite_is_defined_in_the_form_with_its_toml_beside_it(
    transactional_db: None, settings: Settings, tmp_path: Path
) -> None:
    settings.STARBOARD_DATA_DIR = tmp_path
    with open_site(settings) as page:
        page.goto("/suites/new/")
        page.fill("[name=name]", "arms")
        page.select_option("[name='items.0.choice']", "bandit")
        expect(page.locator("[name='items.0.environment.parameters.size']")).to_have_count(0)  # of FrozenLake
        page.fill("[name='items.0.name']", "Arms")
        page.fill("[name='items.0.count']", "4")
        page.fill("[name='items.0.temperature']", "9")
        page.click("button:text-is('TOML')")
        expect(page.locator("[data-error='items.0.temperature']")).to_contain_text("must be 5 or less")
        expect(page.locator("#suite-wrong")).to_be_focused()
        page.fill("[name='items.0.temperature']", "1")
        page.click("button:text-is('TOML')")
        expect(page.locator("#suite-text")).to_have_value(re.compile(r'environment = \{ kind = "bandit" \}'))
        page.fill("#suite-text", page.input_value("#suite-text").replace("count = 4", "count = 3"))
        page.click("button:text-is('Form')")
        expect(page.locator("[name='items.0.count']")).to_have_value("3")
        page.click("button:text-is('Copy')")
        expect(page.locator("[name='items.1.name']")).to_have_value("Arms (copy)")
        page.click("#suite-item-1 button:text-is('Remove')")
        expect(page.locator(".suite-item")).to_have_count(1)
        page.click("button:text-is('Save')")
        expect(page).to_have_url(re.compile(r"/suites/arms/$"))
        expect(page.locator("main")).to_contain_text("not used yet")
