"""Defining an environment in a browser: the live preview, saving, and an episode played manually."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings

from engine.config import EnvironmentConfig
from engine.environments import make_environment
from engine.preflight.report import Problem, Rollout, report
from tests.e2e.open_site import needs_chromium, open_site
from tests.e2e.threads import in_thread
from webapp.environments.models import EnvironmentVersion, Preflight
from webapp.environments.services import define

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]
SEED = 3


@pytest.fixture
def page(transactional_db: None, settings: Settings) -> Iterator[Page]:
    define(name="Lake", config=EnvironmentConfig.model_validate({"kind": "frozen_lake", "tag": "Lake"}))
    with open_site(settings) as opened:
        yield opened


def solution() -> list[str]:
    environment = make_environment("frozen_lake")
    environment.reset(seed=SEED)
    names = environment.action_names()
    return [names[action] for action in environment.solution() or []]


def test_the_list_draws_the_first_state_of_each_environment(page: Page) -> None:
    page.goto("/environments/")
    expect(page.locator(".environment-card svg.board-svg")).to_have_count(1)
    expect(page.locator(".environment-card svg title")).to_contain_text("4 by 4 grid")


def test_the_preview_follows_the_form_and_saving_keeps_the_previewed_states(page: Page) -> None:
    page.goto("/environments/new/?kind=frozen_lake")
    expect(page.locator("#preview-states svg")).to_have_count(4)
    expect(page.locator("#preview-states svg title").first).to_contain_text("4 by 4 grid")
    page.fill("[name='parameters.size']", "5")
    expect(page.locator("#preview-states svg title").first).to_contain_text("5 by 5 grid")
    expect(page.locator("#preview-baselines dt")).to_have_text(["random", "scripted"])
    page.fill("[name=instruction]", "Cross the ice.")
    expect(page.locator("#preview-prompt .message").first).to_contain_text("Cross the ice.")
    page.fill("[name=name]", "Wide lake")
    page.click("button[type=submit]:has-text('Save')")
    expect(page.locator("h1")).to_have_text("Wide lake")
    expect(page.locator(".environment-first svg title")).to_contain_text("5 by 5 grid")


def test_an_invalid_value_is_reported_in_the_preview_and_at_its_field_on_saving(page: Page) -> None:
    page.goto("/environments/new/?kind=frozen_lake")
    page.fill("[name='parameters.size']", "99")
    expect(page.locator("#preview-problem")).to_have_text("Fix 1 field.")
    expect(page.locator("[data-error='parameters.size']")).to_contain_text("12 or less")
    expect(page.locator("[name='parameters.size']")).to_have_attribute("aria-invalid", "true")
    page.fill("[name=name]", "Too wide")
    page.click("button[type=submit]:has-text('Save')")
    expect(page.locator(".field:has([name='parameters.size']) .field-error")).to_be_visible()
    expect(page.locator("[name='parameters.size']")).to_have_value("99")
    # the page of a refused save starts with the invalid value, and waits for nothing
    expect(page.locator("#preview-problem")).to_have_text("Fix 1 field.")
    expect(page.locator(".environment-preview .skeleton")).to_have_count(0)
    expect(page.locator("#preview-states")).to_have_text("Shown once this is fixed.")
    page.fill("[name='parameters.size']", "5")
    expect(page.locator("#preview-states svg")).to_have_count(4)
    expect(page.locator("#preview-baselines dt")).to_have_text(["random", "scripted"])


def test_a_missing_name_stays_reported_while_the_preview_is_drawn(page: Page) -> None:
    page.goto("/environments/new/?kind=frozen_lake")
    page.click("button[type=submit]:has-text('Save')")
    expect(page.locator("#preview-states svg")).to_have_count(4)
    expect(page.locator("[data-error=name]")).to_contain_text("Give it a name")
    expect(page.locator("[name=name]")).to_have_attribute("aria-invalid", "true")
    page.fill("[name=name]", "Ice")
    expect(page.locator("[data-error=name]")).to_be_empty()


def test_a_board_of_tiles_is_shown_whole(page: Page) -> None:
    page.goto("/environments/new/?kind=sudoku")
    expect(page.locator(".preview-state .board-table--tiles")).to_have_count(4)
    hidden = "boxes => boxes.map(box => box.scrollHeight - box.clientHeight)"
    assert page.locator(".preview-state .board-sheet").evaluate_all(hidden) == [0] * 4


def test_actions_clicked_faster_than_the_server_responds_are_all_played(page: Page) -> None:
    page.route("**/play/", lambda route: (page.wait_for_timeout(300), route.continue_())[1])
    page.goto("/environments/")
    page.click(".environment-card >> text=Lake")
    page.fill("#play [name=seed]", str(SEED))
    page.click("[data-act=start]")
    expect(page.locator(".play-left")).to_have_text("5 turns and 10 actions left")
    for action in solution():  # five, so that the last one is sent with the button
        page.click(f".play-actions button:has-text('{action}')")
    page.click("[data-act=send]")
    expect(page.locator(".play-end")).to_have_text("Solved. Return 1, penalty 0.")


def test_an_episode_is_played_to_the_goal_with_the_buttons(page: Page) -> None:
    page.goto("/environments/")
    page.click(".environment-card >> text=Lake")
    page.fill("#play [name=seed]", str(SEED))
    page.click("[data-act=start]")
    expect(page.locator(".play-left")).to_have_text("5 turns and 10 actions left")
    for action in solution():
        page.click(f".play-actions button:has-text('{action}')")
    if len(solution()) % 2:
        page.click("[data-act=send]:enabled")
    expect(page.locator(".play-end")).to_have_text("Solved. Return 1, penalty 0.")
    page.click("[data-act=undo]")
    expect(page.locator(".play-end")).to_have_count(0)


def test_a_raw_response_is_parsed_like_a_model_s(page: Page) -> None:
    page.goto("/environments/")
    page.click(".environment-card >> text=Lake")
    page.click("[data-act=start]")
    page.click(".play-raw summary")
    page.fill("[name=raw]", "<think>up\u202e</think><answer>Fly</answer>")
    page.click("[data-act=raw]")
    entry = page.locator(".play-turn")
    expect(entry).to_contain_text("unknown action: did nothing; reward 0, penalty -0.1")
    expect(entry.locator(".hidden-character")).to_have_text("RLO")


def test_free_text_is_written_into_a_field_and_sent_whole(page: Page) -> None:
    kind = "tests.engine.environment_calls.misbehaving:Sound"
    config = EnvironmentConfig.model_validate({"kind": kind, "tag": "Words"})
    in_thread(lambda: define(name="Words", config=config))
    page.goto("/environments/")
    page.fill("#environment-search", "says yes")
    expect(page.locator(".environment-card:visible")).to_have_count(1)
    page.click(".environment-card >> text=Words")
    page.click("[data-act=start]")
    expect(page.locator(".play-named")).to_be_hidden()
    page.fill("[name=answer]", "no || yes\nreally")
    page.press("[name=answer]", "Control+Enter")
    expect(page.locator(".play-board")).to_contain_text("no || yes")
    page.fill("[name=answer]", "y")
    expect(page.locator(".play-suggestions button")).to_have_text(["yes"])
    page.click(".play-suggestions button")
    page.press("[name=answer]", "Enter")
    expect(page.locator(".play-end")).to_have_text("Solved. Return 1, penalty 0.")
    expect(page.locator("[name=answer]")).to_be_disabled()


def test_a_preflight_shows_its_matrix_as_it_grows(page: Page) -> None:
    version = in_thread(EnvironmentVersion.objects.get)
    page.goto(f"/environments/{version.definition_id}/preflight/")
    page.select_option("[name=player]", "random")
    page.fill("[name=problems]", "2")
    page.fill("[name=rollouts]", "3")
    page.click("#preflight-form button")
    expect(page.locator("#preflight-state")).to_have_text("Queued")
    rollouts = [Rollout(value=value, success=bool(value), turns=1, malformed=0, stop="terminated") for value in (1, 0)]
    problems = [
        Problem(seed=seed, identity=str(seed), solution="known", length=2, rollouts=rollouts) for seed in (0, 1)
    ]
    found = report(problems, player="random", rollouts=2, budget=10, shared=0)
    in_thread(lambda: Preflight.objects.update(state="running", report=found))
    expect(page.locator("#preflight-state")).to_have_text("Running: 2 of 3 rollouts of each problem")
    expect(page.locator(".preflight-matrix .heat--solved")).to_have_count(2)
    expect(page.locator(".preflight-matrix .heat--waiting")).to_have_count(2)
    in_thread(lambda: Preflight.objects.update(state="finished"))
    expect(page.locator("#preflight-report .banner--good")).to_contain_text("so RL has something to learn")
    expect(page.locator("#preflight-stop")).to_have_count(0)
    row = page.locator("#preflight-row")
    expect(row).to_contain_text("Finished")
    expect(row).to_contain_text("so RL has something to learn")
