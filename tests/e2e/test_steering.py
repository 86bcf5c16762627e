"""Controlling a run with the buttons of its page: pause, forks, a repeated run, and rules tested on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tests.builders.recorded_run import RecordedRun
from tests.e2e.open_site import needs_chromium, open_site
from tests.e2e.steered_run import PATIENCE, steered_run
from tests.e2e.threads import in_thread
from tests.workers.conftest import redis_url, workplace
from tests.workers.workplace import Workplace
from webapp.runs.models import Run, StepMetrics
from webapp.runs.states import RunState

__all__ = ["redis_url", "workplace"]

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

PARTS_AT = 7  # the step at which the repeated run diverges


@pytest.fixture
def recorded(transactional_db: None, settings: Settings, tmp_path: Path) -> RecordedRun:
    """A run that has finished, of twenty steps with checkpoints at 10 and 20."""
    settings.RUNS_DIR = tmp_path / "runs"
    recorded = steered_run(20)
    recorded.emit("run_finished", outcome="completed", reason="All 20 steps were made.")
    recorded.deliver()
    Run.objects.filter(pk=recorded.run.pk).update(state=RunState.FINISHED)
    return recorded


@pytest.fixture
def page(recorded: RecordedRun, settings: Settings) -> Iterator[Page]:
    with open_site(settings, patience=PATIENCE) as opened:
        yield opened


def run_data(page: Page, run: str) -> dict[str, Any]:
    answer: dict[str, Any] = page.evaluate(f"fetch('/api/v1/runs/{run}/').then(answer => answer.json())")
    return answer


def press(page: Page, name: str) -> None:
    page.locator(".page-actions").get_by_role("button", name=name, exact=True).click()


@pytest.mark.slow
def test_a_run_is_paused_checkpointed_and_resumed_with_its_buttons(workplace: Workplace, settings: Settings) -> None:
    workplace.start_worker()
    run = workplace.submit(steps=2000, step_seconds=0.1)
    with open_site(settings, patience=PATIENCE) as page:
        page.goto(f"/runs/{run.pk}/")
        chip, step = page.locator("#state-chip"), page.locator("#step")
        expect(chip).to_have_text("Running")
        expect(step).to_have_text(re.compile(r"^[1-9]\d*/2000$"))
        press(page, "Pause")
        expect(chip).to_have_text("Paused")
        reached = step.inner_text()
        press(page, "Checkpoint")
        expect(page.locator(".toast")).to_contain_text("before its next step")
        page.get_by_role("tab", name="Checkpoints").click()
        newest = page.locator("#checkpoint-list tr").first
        expect(newest).to_contain_text("request")
        assert newest.locator("td").first.inner_text() == reached.split("/")[0] == step.inner_text().split("/")[0]
        press(page, "Resume")
        expect(chip).to_have_text("Running")
        expect(step).not_to_have_text(reached)
        expect(page.locator(".page-actions [data-control=resume]")).to_be_hidden()
        press(page, "Stop")
        expect(chip).to_have_text("Stopped")
        expect(page.locator("#notice")).to_contain_text("No process of this run is left")
        expect(newest).to_contain_text("final")


def test_a_fork_starts_at_its_checkpoint_with_the_edited_settings(page: Page, recorded: RecordedRun) -> None:
    page.goto(f"/runs/{recorded.run.pk}/#checkpoints")
    expect(page.locator("#checkpoint-list tr")).to_have_count(2)
    page.get_by_role("link", name="Fork from step 10").click()
    expect(page.locator("h1")).to_have_text("Fork calm-otter-12 at step 10")
    rate = page.locator("[name='optimizer.learning_rate']")
    rate.evaluate("field => field.closest('details') && (field.closest('details').open = true)")
    rate.fill("5e-5")
    page.locator("button.run-launch").click()
    expect(page.locator(".run-line")).to_contain_text("forked from calm-otter-12 at step 10")
    fork = page.url.split("/runs/")[1].split("/")[0]
    config = run_data(page, fork)["config"]
    assert config["optimizer"]["learning_rate"] == 5e-5
    start = config["model"]["start_from"]
    assert (start["run"], start["step"]) == (recorded.run.pk, 10)
    assert run_data(page, recorded.run.pk)["config"]["optimizer"]["learning_rate"] == 2e-4
    page.goto(f"/compare/?runs={recorded.run.pk},{fork}")
    expect(page.locator(".differences")).to_contain_text("optimizer.learning_rate")


def test_a_run_is_launched_again_and_the_first_differing_step_is_shown(page: Page, recorded: RecordedRun) -> None:
    page.goto(f"/runs/{recorded.run.pk}/#control")
    page.get_by_role("button", name="Run again").click()
    expect(page.locator(".banner").first).to_contain_text("Launched with the configuration and seed of calm-otter-12")
    again = page.url.split("/runs/")[1].split("/")[0]
    in_thread(lambda: take_the_same_steps(recorded.run, Run.objects.get(pk=again)))
    page.reload()
    page.get_by_role("tab", name="Control").click()
    twins = page.locator("#history-twins")
    expect(twins).to_contain_text(f"The first difference is at step {PARTS_AT}, in 1 metric.")
    twins.get_by_text(f"Step {PARTS_AT}, metric by metric").click()
    expect(twins.locator("tbody th")).to_have_text("rollout/success")
    twins.get_by_role("link", name="Compare").click()
    expect(page.locator("#first-difference")).to_contain_text(f"The first difference is at step {PARTS_AT}")
    expect(page.locator('[data-chart="rollout/success"] .compare-key li')).to_have_count(2)


def take_the_same_steps(source: Run, again: Run) -> None:
    """The steps of `source` up to the one at which the runs diverge."""
    for row in source.steps.filter(step__lte=PARTS_AT).order_by("step"):
        metrics = row.metrics | ({"rollout/success": -1.0} if row.step == PARTS_AT else {})
        StepMetrics.objects.create(
            run=again, seq=row.seq, step=row.step, time=row.time, tokens=row.tokens, seconds=row.seconds,
            metrics=metrics,
        )  # fmt: skip


def test_rules_are_tested_on_an_ended_run_but_not_applied_to_it(page: Page, recorded: RecordedRun) -> None:
    page.goto(f"/runs/{recorded.run.pk}/#alerts")
    page.locator("#rule-preset").select_option("none")
    page.locator("#rule-use-preset").click()
    page.locator("#rule-add").click()
    page.locator("[id='detectors.rules.0.name']").fill("always")
    page.locator("[id='detectors.rules.0.limit']").fill("1")
    page.get_by_role("button", name="Test on this run").click()
    expect(page.locator("#rules-found")).to_contain_text("Over 20 recorded steps, to step 20: 1 alert")
    expect(page.locator("#rules-apply")).to_be_disabled()
    expect(page.locator("#rules-apply")).to_have_attribute("title", "The run has ended.")
    page.locator(".firings a").first.click()
    expect(page).to_have_url(re.compile(r"/trajectories/\?step=\d+$"))
