"""The new-run form in a browser: cluster fields appear with the backend, and the memory estimate follows the fields."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings

from engine.config import EnvironmentConfig
from engine.environments import environment_class
from tests.e2e.open_site import needs_chromium, open_site
from tests.e2e.threads import in_thread
from webapp.environments.services import define, define_unmeasured

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(transactional_db: None, settings: Settings) -> Iterator[Page]:
    define(name="Lake", config=EnvironmentConfig.model_validate({"kind": "frozen_lake", "tag": "Lake"}))
    with open_site(settings) as opened:
        opened.goto("/runs/new/")
        yield opened


def test_the_cluster_fields_are_shown_only_for_the_cluster_backend(page: Page) -> None:
    samplers, memory = page.locator("[name='cluster.samplers']"), page.locator("#memory")
    expect(samplers).to_be_hidden()
    expect(memory).to_contain_text("The run needs at most about")
    page.select_option("[name=backend]", "ray")
    expect(samplers).to_be_visible()
    expect(memory).to_contain_text("The sampler needs about")
    page.select_option("[name=backend]", "local")
    expect(samplers).to_be_hidden()
    expect(memory).to_contain_text("The run needs at most about")


def test_the_memory_follows_the_fields(page: Page) -> None:
    page.select_option("[name=backend]", "ray")
    page.select_option("[name='cluster.device']", "cpu")
    words = page.locator("#memory-note")
    expect(words).to_contain_text("with 2,048 tokens at once")
    page.locator("details:has([name='optimizer.micro_batch_tokens'])").evaluate("section => section.open = true")
    page.fill("[name='optimizer.micro_batch_tokens']", "1200")
    expect(words).to_contain_text("with 1,200 tokens at once")
    page.fill("[name='cluster.samplers']", "2")
    expect(words).to_contain_text("Each of 2 samplers needs about")


def test_an_invalid_value_for_the_model_is_reported_at_its_field(page: Page) -> None:
    page.select_option("[name=backend]", "ray")
    page.fill("[name='cluster.tensor_parallel']", "3")
    expect(page.locator("[data-error='cluster.tensor_parallel']")).to_contain_text("4 attention heads")
    expect(page.locator("[name='cluster.tensor_parallel']")).to_have_attribute("aria-invalid", "true")
    page.fill("[name='cluster.tensor_parallel']", "2")
    expect(page.locator("[data-error='cluster.tensor_parallel']")).to_be_empty()


def test_further_environments_are_added_and_removed_as_rows(page: Page) -> None:
    rows, own = page.locator("#more-environments fieldset"), page.locator("#environment-groups")
    expect(own).to_be_hidden()
    page.get_by_role("button", name="Add an environment").click()
    expect(rows).to_have_count(1)
    expect(rows.locator("legend")).to_have_text("Environment 2")
    expect(own).to_be_visible()
    expect(page.locator("[data-error=environment]")).to_contain_text("tags must differ")  # there is only one choice
    rows.get_by_label("Name").fill("Second")
    expect(page.locator("[data-error=environment]")).to_be_empty()
    rows.get_by_label("Problems per step").fill("many")
    expect(rows.locator(".field-error")).not_to_be_empty()
    rows.get_by_label("Problems per step").fill("4")
    expect(page.locator("#toml")).to_contain_text('tag = "Second"')
    with page.expect_navigation():
        page.locator("[data-preset-card='']").first.click()  # one that suits any environment
    expect(rows.get_by_label("Name")).to_have_value("Second")
    rows.get_by_role("button", name="Remove").click()
    expect(rows).to_have_count(0)
    expect(own).to_be_hidden()
    expect(page.locator("#toml")).not_to_contain_text('tag = "Second"')


def test_a_preset_with_an_environment_of_its_own_replaces_the_selected_one_and_others_keep_it(page: Page) -> None:
    fields = {"kind": "countdown", **environment_class("countdown").examples["Countdown three numbers"]}
    countdown = EnvironmentConfig.model_validate(fields)
    in_thread(lambda: define_unmeasured(name="Countdown three numbers", config=countdown))
    page.goto("/runs/new/?preset=grpo")
    page.select_option("#run-environment", label="Lake (version 1)")
    selected = page.locator("#run-environment option:checked")
    expect(selected).to_have_text("Lake (version 1)")
    page.fill("#run-name", "my run")
    expect(page.locator("#first-board svg title")).to_contain_text("4 by 4 grid")
    page.get_by_role("button", name="Add an environment").click()
    with page.expect_navigation():
        page.get_by_role("link", name="Countdown").click()
    expect(selected).to_have_text("Countdown three numbers (version 1)")
    expect(page.locator("#run-name")).to_have_value("my run")
    expect(page.locator("#more-environments fieldset")).to_have_count(0)  # it is for this environment alone
    expect(page.locator("#first-board")).to_contain_text("Target")
    with page.expect_navigation():
        page.get_by_role("link", name="DAPO").click()
    expect(selected).to_have_text("Countdown three numbers (version 1)")
    expect(page.locator("#run-name")).to_have_value("my run")
    page.select_option("#run-environment", label="Lake (version 1)")
    expect(page.locator("#first-board svg title")).to_contain_text("4 by 4 grid")


def test_another_algorithm_shows_its_own_settings_and_sends_no_others(page: Page) -> None:
    lam, toml = page.locator("[name='algorithm.lam']:enabled"), page.locator("#toml")
    expect(toml).to_contain_text('type = "grpo"')
    expect(lam).to_have_count(0)
    page.select_option("[name='algorithm.type']", "ppo")
    expect(lam).to_be_visible()
    expect(toml).to_contain_text("lam = 1.0")
    lam.fill("3")
    expect(page.locator("[data-error='algorithm.lam']:visible")).to_contain_text("1 or less")
    expect(page.locator("#warnings")).to_contain_text("Fix 1 field.")
    lam.fill("0.95")
    page.locator("fieldset:enabled > .field [name='algorithm.credit.type']").select_option("turn")
    page.fill("[name='algorithm.credit.discount']:enabled", "0.5")
    expect(toml).to_contain_text("discount = 0.5")
    expect(page.locator("#warnings .banner--error")).to_have_count(0)
    page.select_option("[name='algorithm.type']", "remax")
    expect(toml).to_contain_text('type = "remax"')
    expect(toml).not_to_contain_text("discount")


def test_a_setting_is_found_by_words_of_its_name_or_description(page: Page) -> None:
    clip, section = page.locator("[name='loss.clip_high']"), page.locator("details:has([name='loss.clip_high'])")
    expect(clip).to_be_hidden()
    page.get_by_label("Find a setting").fill("clip-higher")
    expect(clip).to_be_visible()
    expect(page.locator("[name='loss.kl_coefficient']")).to_be_hidden()
    expect(page.locator("[name='checkpoint.every']")).to_be_hidden()
    page.get_by_label("Find a setting").fill("no such words")
    expect(page.get_by_text("No setting contains these words")).to_be_visible()
    page.get_by_label("Find a setting").fill("")
    expect(clip).to_be_hidden()  # its section is closed as before
    section.locator("summary").click()
    clip.fill("0.4")
    expect(section.locator("summary")).to_contain_text("1 changed")
    page.get_by_label("Only changed").check()
    expect(clip).to_be_visible()
    expect(page.locator("[name='loss.clip_low']")).to_be_hidden()


def test_an_error_is_linked_from_the_head_of_the_form_to_its_field(page: Page) -> None:
    page.locator("details:has([name='loss.clip_high']) summary").click()
    page.fill("[name='loss.clip_high']", "-1")
    page.locator("details:has([name='loss.clip_high']) summary").click()
    warnings = page.locator("#warnings")
    expect(warnings).to_contain_text("Fix 1 field.")
    warnings.get_by_role("link", name="Clip high").click()
    expect(page.locator("[name='loss.clip_high']")).to_be_focused()
    expect(page.locator("[data-error='loss.clip_high']")).to_contain_text("must be greater than 0, got '-1'")


def test_a_preset_of_ones_own_is_saved_and_chosen(page: Page) -> None:
    page.get_by_label("Groups (problems per step)").fill("9")
    page.get_by_text("Save as your own preset").click()
    page.get_by_label("Name of the preset").fill("nine groups")
    with page.expect_navigation():
        page.get_by_role("button", name="Save preset").click()
    expect(page.locator(".preset-own [aria-current]")).to_have_text("nine groups")
    expect(page.get_by_label("Groups (problems per step)")).to_have_value("9")
    with page.expect_navigation():
        page.get_by_role("button", name="Delete nine groups").click()
    expect(page.locator(".preset-own")).to_have_count(0)


def test_another_models_size_fills_in_its_defaults_but_not_over_what_was_set(page: Page) -> None:
    panel, rate, context = (
        page.locator("#sized-defaults"),
        page.locator("[name='optimizer.learning_rate']"),
        page.locator("[name='rollout.max_context_tokens']"),
    )
    expect(page.locator("#memory")).to_contain_text("The run needs at most about")  # the first check is over
    expect(panel).to_be_hidden()
    context.fill("2000")
    page.fill("[name='model.path']", "Qwen/Qwen2.5-3B-Instruct")
    expect(panel).to_contain_text("Filled in: ")
    expect(panel).to_contain_text("Learning rate 1e-06 (preset: 0.0002)")
    expect(panel).to_contain_text("Usual, and not set: Context (tokens) 3600.")
    expect(rate).to_have_value("1e-06")
    expect(context).to_have_value("2000")
    panel.get_by_role("button", name="Use all of them").click()
    expect(context).to_have_value("3600")
    page.fill("[name='model.path']", "tiny")
    expect(panel).to_be_hidden()
    expect(rate).to_have_value("0.0002")
