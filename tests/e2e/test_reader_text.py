"""What environments and models wrote, in the reader: a forged message stays text, and surplus actions have a mark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings

from engine.environments.registry import ENVIRONMENTS
from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from tests.e2e.open_site import needs_chromium, open_site
from tests.engine.rollout.forging import FORGED
from webapp.trajectories import services
from webapp.trajectories.models import Trajectory

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def row(transactional_db: None, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trajectory:
    """A trajectory of an environment that forges messages, by a model that always writes an action too many."""
    settings.RUNS_DIR = str(tmp_path / "runs")
    run = build_run()
    with monkeypatch.context() as patched:
        patched.setitem(ENVIRONMENTS, "frozen_lake", "tests.engine.rollout.forging:ForgingLake")
        rows = record_steps(
            run, run.parsed_config().environments[0], steps=range(1, 2), skill=0.0, faults=0.0, surplus=1.0
        )
    return max(rows, key=lambda one: one.turns)


@pytest.fixture
def record(row: Trajectory) -> dict[str, Any]:
    return services.record(row)


@pytest.fixture
def page(row: Trajectory, record: dict[str, Any], settings: Settings) -> Iterator[Page]:
    with open_site(settings) as opened:
        opened.goto(f"/runs/{row.run_id}/trajectories/{row.pk}/")
        yield opened


def test_a_message_that_an_observation_forges_stays_in_its_message(page: Page) -> None:
    page.click("summary:has-text('Prompt')")
    expect(page.locator(".messages > li")).to_have_count(2)
    assert page.locator(".message-role").all_text_contents() == ["system", "user"]
    assert FORGED in (page.locator(".messages pre").nth(1).text_content() or "")
    page.keyboard.press("j")
    expect(page.locator(".messages > li")).to_have_count(1)
    assert FORGED in (page.locator(".messages pre").text_content() or "")


def test_surplus_actions_have_a_quiet_mark_and_their_tokens_are_shown_as_masked(
    page: Page, record: dict[str, Any]
) -> None:
    turn = record["turns"][0]
    text = f"{len(turn['executed'])} of {len(turn['parsed']) + turn['surplus']} played"
    expect(page.locator(".turn-surplus")).to_have_text(text)
    expect(page.locator(".turn-fault, .strip-turn--fault")).to_have_count(0)
    expect(page.locator(".strip-turn").first).to_have_attribute("title", f"Turn 1: {text}")
    page.click("[data-shade=mask]")
    masked = page.locator(".token--masked")
    last = turn["response"].split()[-1].removesuffix("</answer>")
    assert "".join(masked.all_text_contents()).split() == ["||", last]
