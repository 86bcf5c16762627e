"""Control, forks, rules, evidence and notifications in a browser, by mouse and keyboard, wide and narrow."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tests.builders.recorded_run import RecordedRun
from tests.e2e.open_site import needs_chromium, open_site
from tests.e2e.steered_run import PATIENCE, steered_run
from tests.e2e.threads import in_thread
from tests.webapp.alerts.receivers import Inbox, webhook_receiver
from webapp.runs import live_settings
from webapp.runs.models import Run

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

RATE = "[name='optimizer.learning_rate']"


@pytest.fixture
def recorded(transactional_db: None, settings: Settings, tmp_path: Path) -> RecordedRun:
    """Twenty steps of sixty, checkpoints of 10 and 20, and an alert at the twentieth."""
    settings.RUNS_DIR = tmp_path / "runs"
    recorded = steered_run(60)
    recorded.raise_alert("Entropy fell to a third of its baseline.")
    recorded.deliver()
    return recorded


@pytest.fixture
def emit(recorded: RecordedRun) -> Iterator[Callable[..., None]]:
    """Emits an event of the engine, in another thread: this one drives the browser."""
    with ThreadPoolExecutor(1) as writer:

        def emit(kind: str, **values: Any) -> None:
            writer.submit(lambda: (recorded.emit(kind, **values), recorded.deliver())).result()

        yield emit


@pytest.fixture
def inbox(settings: Settings) -> Iterator[Inbox]:
    settings.STARBOARD_WEBHOOK_NETWORKS = ["127.0.0.0/8"]
    with webhook_receiver() as inbox:
        yield inbox


@pytest.fixture(params=[1440, 390], ids=["wide", "phone"])
def page(request: pytest.FixtureRequest, recorded: RecordedRun, settings: Settings, inbox: Inbox) -> Iterator[Page]:
    with open_site(settings, width=request.param, patience=PATIENCE) as opened:
        yield opened


def wait_for(page: Page, script: str) -> None:
    """Until the script is true; Playwright's own way evaluates text in the page, which the content policy forbids."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(script):
        assert time.monotonic() < deadline, script
        page.wait_for_timeout(100)


def fits(page: Page) -> bool:
    """Nothing makes the page wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_a_setting_is_requested_validated_and_shown_in_force_once_the_engine_confirms_it(
    page: Page, recorded: RecordedRun, emit: Callable[..., None]
) -> None:
    page.goto(f"/runs/{recorded.run.pk}/#control")
    rate, status = page.locator(RATE), page.locator("#live-settings-status")
    expect(page.locator("#history")).to_contain_text("No actions yet.")
    rate.fill("0")
    rate.press("Enter")
    expect(page.locator("#live-settings [data-error='optimizer.learning_rate']")).to_contain_text("greater than 0")
    expect(rate).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#history")).to_contain_text("changed settings")
    expect(page.locator("#history")).to_contain_text("refused")
    rate.fill("1e-5")
    rate.press("Enter")
    expect(status).to_contain_text("in force once the step in progress is done")
    expect(rate).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("#history")).to_contain_text("optimizer.learning_rate 0.0002 → 1e-05")
    changes = {"optimizer.learning_rate": {"old": 2e-4, "new": 1e-5}}
    emit("settings_changed", revision=1, changes=changes)
    expect(status).to_have_text("In force since step 21.")
    page.click("#tab-config")
    expect(page.locator("#changed-settings")).to_contain_text("optimizer.learning_rate")
    expect(page.locator("#changed-settings")).to_contain_text("step 21")
    assert fits(page)
    page.click("#tab-overview")
    tooltip = tooltip_of_first_mark(page)
    assert "optimizer.learning_rate 0.0002 → 0.00001" in tooltip
    assert "requested by ada" in tooltip


def test_another_filter_shows_its_own_settings_and_is_requested_as_a_whole(page: Page, recorded: RecordedRun) -> None:
    page.goto(f"/runs/{recorded.run.pk}/#control")
    value = page.locator("[name='filter.value']:enabled")
    expect(value).to_have_count(0)  # the run has no filter
    page.select_option("[name='filter.type']", "top_k")
    expect(value).to_be_visible()
    value.fill("2")
    value.press("Enter")
    expect(page.locator("[data-error='filter.value']:visible")).to_contain_text("1 or less")
    value.fill("0.5")
    value.press("Enter")
    expect(page.locator("#history")).to_contain_text("top_k")
    assert in_thread(lambda: Run.objects.get(pk=recorded.run.pk).settings_changes["filter"]["value"]) == 0.5
    assert fits(page)


def tooltip_of_first_mark(page: Page) -> str:
    """Hovers, and again if a redraw has removed the tooltip."""
    tooltip = page.locator("#charts-overview .hoverlayer").first
    for _ in range(40):
        page.mouse.move(0, 0)
        page.locator("#charts-overview .annotation").filter(has_text="◆").first.hover()
        page.wait_for_timeout(200)
        if text := tooltip.text_content():
            return text
    return ""


def test_an_alert_links_to_its_evidence_and_to_a_fork_from_before_it(page: Page, recorded: RecordedRun) -> None:
    page.goto(f"/runs/{recorded.run.pk}/#alerts")
    alert = page.locator("#alert-list li").first
    expect(alert.get_by_role("link", name="Fork from step 10")).to_be_visible()
    alert.get_by_role("link", name="Evidence").click()
    expect(page.locator(".evidence-curve circle")).to_have_count(1)
    expect(page.locator("body")).to_contain_text("Step 20 compared with the ten steps before")
    assert fits(page)
    page.get_by_role("link", name="Fork from step 10").click()
    expect(page.locator("h1")).to_have_text("Fork calm-otter-12 at step 10")
    expect(page.locator("[name='model.start_from.step']")).to_have_value("10")
    page.locator("button.run-launch").click()
    expect(page.locator(".run-line")).to_contain_text("forked from calm-otter-12 at step 10")


def test_rules_are_created_tested_and_applied_with_the_keyboard(page: Page, recorded: RecordedRun) -> None:
    page.goto(f"/runs/{recorded.run.pk}/#alerts")
    page.locator("#rule-preset").select_option("none")
    page.locator("#rule-use-preset").press("Enter")
    expect(page.locator("#rule-list")).to_contain_text("no alerts are raised")
    page.locator("#rule-add").press("Enter")
    name = page.locator("[id='detectors.rules.0.name']")
    expect(name).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("always")
    page.locator("[id='detectors.rules.0.limit']").fill("much")
    page.locator("#rules-try").press("Enter")
    expect(page.locator("[data-error='detectors.rules.0.limit']")).to_contain_text("must be a number")
    page.locator("[id='detectors.rules.0.limit']").fill("1")
    page.locator("#rules-try").press("Enter")
    expect(page.locator("#rules-found")).to_contain_text("Over 20 recorded steps, to step 20: 1 alert")
    expect(page.locator(".firings li")).to_contain_text("always")
    page.locator("#rules-apply").press("Enter")
    expect(page.locator("#rules-status")).to_contain_text("in force from the next step")
    [rule] = page.evaluate(f"fetch('/api/v1/runs/{recorded.run.pk}/').then(a => a.json())")["settings"]["changes"][
        "detectors.rules"
    ]
    assert (rule["name"], rule["limit"]) == ("always", 1.0)
    assert fits(page)


def test_another_kind_of_rule_has_its_own_fields(page: Page, recorded: RecordedRun) -> None:
    page.goto(f"/runs/{recorded.run.pk}/#alerts")
    page.locator("#rule-preset").select_option("none")
    page.locator("#rule-use-preset").click()
    page.locator("#rule-add").click()
    mean_over, window = (page.locator(f"[id='detectors.rules.0.{name}']") for name in ("mean_over", "window"))
    expect(mean_over).to_be_visible()
    expect(window).to_have_count(0)
    kind = page.locator("[id='detectors.rules.0.kind']")
    kind.select_option("z_score")
    expect(kind).to_be_focused()
    expect(mean_over).to_have_count(0)
    expect(window).to_have_value("10")
    page.click("#rules-apply")
    expect(page.locator("#rules-status")).to_contain_text("in force from the next step")
    [rule] = in_thread(lambda: Run.objects.get(pk=recorded.run.pk).settings_changes["detectors.rules"])
    assert (rule["kind"], rule["limit"], rule["window"]) == ("z_score", 0.05, 10)
    assert "mean_over" not in rule


def changed_by_bob(recorded: RecordedRun, changes: dict[str, Any]) -> None:
    """Another user requests other settings of the run."""

    def change() -> None:
        bob, _ = User.objects.get_or_create(username="bob")
        run = Run.objects.get(pk=recorded.run.pk)
        live_settings.change(run, changes, bob, revision=run.settings_revision)

    in_thread(change)


def test_rule_changes_by_others_are_shown_and_never_overwritten(page: Page, recorded: RecordedRun) -> None:
    page.goto(f"/runs/{recorded.run.pk}/#alerts")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    action, status = page.locator("[data-action=critical_action]"), page.locator("#rules-status")
    rules = [{"name": "bobs", "kind": "below", "metric": "rollout/success", "limit": 0.1}]
    changed_by_bob(recorded, {"detectors.rules": rules, "detectors.critical_action": "stop"})
    expect(page.locator("#rule-list .rule")).to_have_count(1)
    expect(action).to_have_value("stop")
    page.click("#rule-add")
    changed_by_bob(recorded, {"optimizer.learning_rate": 1e-5})  # not a rule: nothing conflicts
    page.click("#tab-control")
    expect(page.locator(RATE)).to_have_value("0.00001")
    page.click("#tab-alerts")
    page.click("#rules-apply")
    expect(status).to_contain_text("in force from the next step")
    page.click("#rule-add")
    changed_by_bob(recorded, {"detectors.rules": [], "detectors.critical_action": "pause"})
    conflict, problem = page.locator("#rules-conflict"), page.locator("#rules-form .field-error[data-error='']")
    expect(conflict).to_contain_text("Someone else has changed the rules")
    expect(conflict.locator("li")).to_have_text(["bobs removed", "rule_1 removed", "After critical stop → pause"])
    expect(page.locator("#rule-list .rule")).to_have_count(3)
    page.click("#rules-apply")
    expect(problem).to_contain_text("The settings were changed in the meantime")
    held = page.evaluate(f"fetch('/api/v1/runs/{recorded.run.pk}/').then(a => a.json())")["settings"]["changes"]
    assert (held["detectors.rules"], held["detectors.critical_action"]) == ([], "pause")
    assert fits(page)
    page.get_by_role("button", name="Apply mine over theirs").click()
    expect(status).to_contain_text("in force from the next step")
    expect(conflict).to_be_hidden()
    expect(problem).to_have_text("")
    expect(page.locator("#rule-list .rule")).to_have_count(3)
    held = page.evaluate(f"fetch('/api/v1/runs/{recorded.run.pk}/').then(a => a.json())")["settings"]["changes"]
    assert [one["name"] for one in held["detectors.rules"]] == ["bobs", "rule_1", "rule_2"]
    assert held["detectors.critical_action"] == "stop"
    page.click("#rule-add")
    rules[0]["limit"] = 0.2
    changed_by_bob(recorded, {"detectors.rules": rules})
    expect(conflict.locator("li")).to_have_text(["rule_1 removed", "rule_2 removed", "bobs: Limit 0.1 → 0.2"])
    page.get_by_role("button", name="Discard mine").click()
    expect(page.locator("#rule-list .rule")).to_have_count(1)
    expect(conflict).to_be_hidden()
    expect(status).to_have_text("These are the rules in force.")


def test_a_new_run_gets_the_rules_of_the_form(page: Page) -> None:
    page.goto("/runs/new/")
    page.locator("details:has(#rule-editor)").evaluate("section => section.open = true")
    page.locator("#rule-preset").select_option("stop_when_collapsed")
    page.locator("#rule-use-preset").click()
    expect(page.locator("#rule-list .rule")).to_have_count(3)
    page.locator("button.run-launch").click()
    expect(page.locator("#run-name")).to_be_visible()
    run = page.evaluate("fetch(`/api/v1${location.pathname}`).then(a => a.json())")
    rules = [one["name"] for one in run["config"]["detectors"]["rules"]]
    assert rules == ["no_signal", "format_breakdown", "sampler_kl"]
    assert fits(page)


def test_a_webhook_is_added_and_tested_and_its_secret_is_shown_once(page: Page, inbox: Inbox) -> None:
    page.goto("/settings/notifications/")
    page.fill("#id_url", inbox.url)
    page.get_by_role("button", name="Add webhook").click()
    expect(page.locator("#secret")).to_contain_text("whsec_")
    page.get_by_role("button", name="Send test").last.click()
    expect(page.locator(".deliveries")).to_contain_text("sent")
    expect(page.locator("#secret")).to_have_count(0)
    assert json.loads(inbox.got[0][2])["type"] == "test"
    assert fits(page)


def test_notification_permission_is_requested_only_by_the_button(
    page: Page, recorded: RecordedRun, emit: Callable[..., None]
) -> None:
    page.add_init_script(
        """window.shown = []; window.requests = 0;
        window.Notification = class extends EventTarget {
          static permission = sessionStorage.getItem('granted') ?? 'default';
          static async requestPermission() {
            window.requests += 1;
            sessionStorage.setItem('granted', 'granted');
            return (window.Notification.permission = 'granted');
          }
          constructor(title, options) { super(); window.shown.push([title, options.body]); }
        };"""
    )
    page.goto(f"/runs/{recorded.run.pk}/#alerts")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.click("#tab-alerts")
    assert page.evaluate("window.requests") == 0
    page.click("#browser-notify")
    expect(page.locator("#browser-notify")).to_have_text("Stop notifying me in this browser")
    fields = {"rule": "low", "severity": "critical", "metric": "rollout/success", "value": 0.0}
    emit("alert_raised", message="It fell.", **fields)
    wait_for(page, "window.shown.length === 2")  # the first is an example
    assert page.evaluate("window.shown[1]") == ["critical: calm-otter-12", "Step 20: It fell."]
