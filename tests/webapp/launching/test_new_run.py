"""The new-run form: presets, clones, the engine's checks at their fields, and the launch."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from engine.cluster.checks import Machine
from engine.config import EnvironmentConfig, RunConfig
from engine.environments import environment_class
from engine.events import RunStarted
from tests.webapp.event_rows import add_event
from tests.webapp.runs.rows import a_run, report
from webapp.environments.models import EnvironmentVersion
from webapp.environments.services import define, define_unmeasured
from webapp.forms.run_config import ESSENTIALS, flatten
from webapp.launching.presets import run_presets
from webapp.runs.models import Run

pytestmark = pytest.mark.django_db

NEW, CHECK = "/runs/new/", "/runs/check/"


def filled_in(version: EnvironmentVersion | None, **changes: str) -> dict[str, str]:
    """The starter preset as the browser posts it, with some fields changed (`rollout__groups="8"`)."""
    values = flatten(run_presets()["starter"].config().model_dump(mode="json"))
    values |= {name.replace("__", "."): text for name, text in changes.items()}
    ticked = {name: text for name, text in values.items() if text != "false"}
    return {**ticked, "preset": "starter", "environment": str(version.pk) if version else ""}


def field_of(answer: Any, name: str) -> Any:
    return next(one for section in answer.context["sections"] for one in section.fields if one.name == name)


def test_each_preset_is_a_card_with_its_description(browser: Client) -> None:
    page = browser.get(NEW)
    assert [preset.key for preset in page.context["presets"]] == list(run_presets())
    assert page.content.decode().count('class="preset-card"') == len(run_presets())


def test_presets_at_real_size_have_a_list_of_their_own_with_their_label(
    browser: Client, lake: EnvironmentVersion
) -> None:
    small, _, real = browser.get(NEW).content.decode().partition("At real size, on GPUs of 80 GB")
    assert "?preset=starter" in small and "?preset=qwen2_5_3b_1_gpu" not in small
    assert "?preset=qwen2_5_3b_1_gpu" in real and "Not run. Qwen2.5-3B-Instruct on 1 GPU" in real
    page = browser.get(f"{NEW}?preset=qwen2_5_3b_1_gpu&environment={lake.pk}")
    assert page.context["response_tokens"] == "400"


def test_a_preset_fills_the_fields(browser: Client) -> None:
    config = run_presets()["collapse"].config()
    page = browser.get(f"{NEW}?preset=collapse")
    assert field_of(page, "optimizer.learning_rate").value == str(config.optimizer.learning_rate)


def test_a_preset_made_for_an_environment_selects_it(browser: Client, lake: EnvironmentVersion) -> None:
    fields = {"kind": "countdown", **environment_class("countdown").examples["Countdown three numbers"]}
    countdown = define(name="Countdown three numbers", config=EnvironmentConfig.model_validate(fields))
    assert browser.get(f"{NEW}?preset=countdown").context["chosen"] == countdown
    assert browser.get(f"{NEW}?preset=countdown&environment={lake.pk}").context["chosen"] == lake
    page = browser.get(f"{NEW}?preset=grpo&environment={lake.pk}").content.decode()
    assert 'href="?preset=countdown"' in page
    assert f'href="?preset=ppo&amp;environment={lake.pk}"' in page


def test_a_launch_creates_a_queued_run_from_the_form(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(NEW, {**filled_in(lake, rollout__groups="8", steps="5"), "name": "my run"})
    run = Run.objects.get()
    assert answer["Location"] == f"/runs/{run.pk}/"
    config = run.parsed_config()
    assert (run.name, run.environment_version, run.total_steps) == ("my run", lake, 5)
    assert (config.rollout.groups, config.steps) == (8, 5)
    assert [environment.tag for environment in config.environments] == ["Lake"]


def test_an_invalid_field_keeps_its_value_and_shows_its_error(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(NEW, filled_in(lake, rollout__groups="minus one", optimizer__learning_rate="0.123"))
    assert answer.status_code == 422
    groups = field_of(answer, "rollout.groups")
    assert groups.value == "minus one"
    assert groups.error
    assert field_of(answer, "optimizer.learning_rate").value == "0.123"
    assert not Run.objects.exists()


def test_an_unticked_box_stays_unticked_when_another_field_has_an_error(
    browser: Client, lake: EnvironmentVersion
) -> None:
    form = filled_in(lake, steps="many")
    del form["rollout.think"]  # a browser sends nothing for it
    answer = browser.post(NEW, form)
    assert answer.status_code == 422
    think, left_ticked = field_of(answer, "rollout.think"), field_of(answer, "evaluation.at_start")
    assert (think.value, think.changed) == ("false", True)
    assert (left_ticked.value, left_ticked.changed) == ("true", False)


def test_at_least_one_environment_is_required(browser: Client) -> None:
    answer = browser.post(NEW, filled_in(None))
    assert answer.status_code == 422
    assert answer.context["errors"] == {"environment": "Choose an environment."}


def test_a_budget_that_no_problem_fits_is_refused_with_the_reason(browser: Client) -> None:
    # an 8 x 8 lake needs at least 14 moves; one turn of one action gives 1
    config = {"kind": "frozen_lake", "parameters": {"size": 8}, "max_turns": 1, "max_actions_per_turn": 1}
    tight = define(name="Tight", config=EnvironmentConfig.model_validate(config))
    answer = browser.post(NEW, filled_in(tight))
    assert answer.status_code == 422
    assert "No problem can be solved within the action budget." in answer.context["errors"]["environment"]


def test_a_clone_starts_from_the_values_of_its_source(browser: Client, lake: EnvironmentVersion) -> None:
    browser.post(NEW, filled_in(lake, rollout__groups="9"))
    source = Run.objects.get()
    page = browser.get(f"{NEW}?clone={source.pk}")
    assert field_of(page, "rollout.groups").value == "9"
    assert field_of(page, "rollout.groups").changed
    assert page.context["chosen"] == lake
    browser.post(NEW, {**filled_in(lake), "clone": source.pk})
    assert Run.objects.exclude(pk=source.pk).get().cloned_from == source


def posted_back(page: Any, **more: str) -> dict[str, str]:
    """The form on the page as a browser posts it."""
    fields = [one for section in page.context["sections"] for one in section.fields]
    values = {one.name: one.value for one in fields if one.kind != "bool" or one.value == "true"}
    return {**values, "preset": page.context["preset"].key, "environment": str(page.context["chosen"].pk), **more}


@pytest.mark.parametrize("way", ["", "&step=40"])
def test_a_clone_or_fork_keeps_its_source_s_label_and_baseline(
    browser: Client, lake: EnvironmentVersion, way: str
) -> None:
    config = run_presets()["starpo_s"].config().model_dump(mode="json")
    config["optimizer"]["learning_rate"] = 0.5
    source = Run.objects.create(name="source", preset="StarPO-S", config=config)
    page = browser.get(f"{NEW}?clone={source.pk}{way}")
    assert page.context["preset"].key == "starpo_s"
    changed = [one.name for section in page.context["sections"] for one in section.fields if one.changed]
    start = [f"model.start_from.{name}" for name in ("run", "step", "steps_before")] if way else []
    assert changed == [*start, "optimizer.learning_rate"]
    without_start = {name: "" if name.endswith(".run") else "0" for name in start}
    answer = browser.post(NEW, posted_back(page, clone=source.pk, **without_start))
    assert answer.status_code == 302
    made = Run.objects.exclude(pk=source.pk).get()
    assert (made.preset, made.config["preset"]) == ("StarPO-S", "StarPO-S")


def test_a_clone_keeps_a_custom_label_and_is_compared_with_its_source(
    browser: Client, lake: EnvironmentVersion
) -> None:
    config = run_presets()["grpo"].config().model_dump(mode="json")
    source = Run.objects.create(name="source", preset="my own", config={**config, "preset": "my own"})
    page = browser.get(f"{NEW}?clone={source.pk}")
    assert not any(one.changed for section in page.context["sections"] for one in section.fields)
    browser.post(NEW, {**posted_back(page, clone=source.pk), "steps": "7"})
    assert (made := Run.objects.exclude(pk=source.pk).get()).preset == made.config["preset"] == "my own"


def test_a_requested_preset_takes_precedence_over_that_of_the_source(browser: Client, lake: EnvironmentVersion) -> None:
    source = Run.objects.create(name="source", preset="GRPO", config=run_presets()["grpo"].config().model_dump())
    page = browser.get(f"{NEW}?clone={source.pk}&preset=ppo")
    assert page.context["preset"].key == "ppo"


def test_a_clone_keeps_the_alert_rules_of_its_source(browser: Client, lake: EnvironmentVersion) -> None:
    browser.post(NEW, filled_in(lake))
    source = Run.objects.get()
    rule = {"name": "mine", "kind": "above", "metric": "policy/kl", "limit": 0.2}
    source.config["detectors"]["rules"] = [rule]
    source.save()
    browser.post(NEW, {**filled_in(lake, detectors__warn_action="checkpoint"), "clone": source.pk})
    made = Run.objects.exclude(pk=source.pk).get().parsed_config().detectors
    assert [(one.name, one.limit) for one in made.rules] == [("mine", 0.2)]
    assert made.warn_action == "checkpoint"
    toml = browser.post(CHECK, {**filled_in(lake), "clone": source.pk}).json()["toml"]
    assert [one["name"] for one in tomllib.loads(toml)["detectors"]["rules"]] == ["mine"]
    assert "rules" not in tomllib.loads(browser.post(CHECK, filled_in(lake)).json()["toml"])["detectors"]


def test_a_clone_of_an_unknown_run_is_a_new_run(browser: Client) -> None:
    assert browser.get(f"{NEW}?clone=nothing").context["source"] is None


def test_the_check_summarises_the_run_and_gives_the_config_for_the_command_line(
    browser: Client, lake: EnvironmentVersion
) -> None:
    answer = browser.post(CHECK, filled_in(lake, rollout__groups="8", rollout__group_size="4")).json()
    assert answer["errors"] == {}
    assert ["Trajectories per step", "32 (8 problems × 4)"] in answer["summary"]
    assert answer["command"].startswith("python -m engine train ")
    assert RunConfig.model_validate(tomllib.loads(answer["toml"])).rollout.groups == 8


def test_the_check_estimates_step_time_from_similar_runs(browser: Client, lake: EnvironmentVersion) -> None:
    past = a_run()
    past.config = run_presets()["starter"].config().model_dump(mode="json")
    past.save()
    report(past, *[0.5] * 6)  # two seconds per step
    summary = dict(browser.post(CHECK, filled_in(lake)).json()["summary"])
    assert summary["Time per step"].startswith("about 2.0 s") and "Cost" not in summary


def test_the_check_estimates_the_cost_where_a_price_is_configured(
    browser: Client, lake: EnvironmentVersion, settings: Settings
) -> None:
    settings.CPU_HOUR_PRICE, settings.CURRENCY = 0.5, "EUR"
    past = a_run()
    past.config = run_presets()["starter"].config().model_dump(mode="json")
    past.save()
    report(past, *[0.5] * 6)
    started = RunStarted(step=0, total_steps=60, pid=1, device="cpu", model="tiny", parameters=1)
    add_event(past, started, seq=99, time=1000.0)
    # an hour for six steps; 100 steps take 16.7 hours
    Run.objects.filter(pk=past.pk).update(last_progress=datetime.fromtimestamp(4600, UTC))
    summary = dict(browser.post(CHECK, filled_in(lake, steps="100")).json()["summary"])
    assert summary["Cost"] == "about 8.33 EUR"


def test_the_check_names_invalid_fields(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(CHECK, filled_in(lake, optimizer__learning_rate="-1")).json()
    assert list(answer["errors"]) == ["optimizer.learning_rate"]


def test_other_http_methods_are_refused(browser: Client) -> None:
    assert browser.put(NEW).status_code == 405
    assert browser.get(CHECK).status_code == 405


@pytest.mark.parametrize("path", [NEW, CHECK])
def test_anonymous_users_cannot_launch(client: Client, path: str, lake: EnvironmentVersion) -> None:
    client.post(path, filled_in(lake))
    assert not Run.objects.exists()


def test_the_form_estimates_the_memory_of_a_run_on_a_cluster(browser: Client, lake: EnvironmentVersion) -> None:
    sampler, learner, *_ = browser.post(CHECK, filled_in(lake, backend="ray", cluster__device="cpu")).json()["memory"]
    assert sampler.startswith("The sampler needs about ")
    # 609,920 parameters of 4 bytes
    assert "weights 2.3 MiB" in learner
    small = filled_in(lake, backend="ray", cluster__device="cpu", optimizer__micro_batch_tokens="1024")
    assert "with 1,024 tokens at once" in browser.post(CHECK, small).json()["memory"][1]
    here = browser.post(CHECK, filled_in(lake)).json()["memory"]
    assert here[0].startswith("The run needs at most about ")


def test_a_model_that_is_not_downloaded_has_no_estimate_and_a_reason(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(CHECK, filled_in(lake, backend="ray", model__path="someone/far-away")).json()
    assert answer["errors"] == {}
    assert answer["memory"] == [
        "Memory could not be estimated. 'someone/far-away' is not on this machine yet, so its shape is unknown. "
        "Give a directory, or download the model into the local Hugging Face cache."
    ]


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"cluster__tensor_parallel": "3"}, "cluster.tensor_parallel", "it has 4 attention heads"),
        ({"rollout__temperature": "2.5"}, "rollout.temperature", "vLLM supports 0 and 0.01 to 2"),
        ({"evaluation__temperature": "3"}, "evaluation.temperature", "vLLM supports"),
    ],
)
def test_settings_that_cannot_work_on_a_cluster_are_field_errors(
    browser: Client, lake: EnvironmentVersion, changes: dict[str, str], field: str, words: str
) -> None:
    form = filled_in(lake, backend="ray", **changes)
    assert words in browser.post(CHECK, form).json()["errors"][field]
    answer = browser.post(NEW, form)
    assert answer.status_code == 422
    assert words in field_of(answer, field).error
    assert not Run.objects.exists()
    browser.post(NEW, {**form, "backend": "local"})
    assert Run.objects.count() == 1


def test_too_few_gpus_are_reported_where_the_count_is_known(
    browser: Client, lake: EnvironmentVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Machine(gpus=(80 * 1024**3,) * 2, memory=2**40)
    monkeypatch.setattr("webapp.launching.drafts.this_machine", lambda: here)
    form = filled_in(lake, backend="ray", cluster__samplers="2", cluster__learners="2")
    answer = browser.post(CHECK, {**form, "diagnostics.gradients_every": "0"}).json()
    assert "need 4 GPUs together, and this machine has 2" in answer["errors"]["cluster.samplers"]
    assert "of a GPU" in answer["memory"][0]


def test_the_cluster_section_is_open_only_for_a_cluster_run(browser: Client, lake: EnvironmentVersion) -> None:
    page = browser.get(NEW).content.decode()
    assert '<details class="panel config-section" id="cluster-section">' in page
    wrong = browser.post(NEW, filled_in(lake, backend="ray", steps="0")).content.decode()
    assert '<details class="panel config-section" id="cluster-section" open>' in wrong


def test_a_type_chosen_without_scripts_shows_its_fields_before_it_launches(
    browser: Client, lake: EnvironmentVersion
) -> None:
    chosen = {**filled_in(lake, algorithm__type="ppo"), "algorithm.soft_reweighting": "on"}
    shown = ["algorithm=grpo", "algorithm.credit=trajectory"]  # what the browser had, and a browser of today sends
    answer = browser.post(NEW, {**chosen, "shown-variants": shown})
    assert answer.status_code == 422
    assert "These are the fields of ppo." in field_of(answer, "algorithm.type").error
    assert (field_of(answer, "algorithm.lam").value, field_of(answer, "algorithm.soft_reweighting").value) == (
        "1.0",
        "false",
    )
    assert not Run.objects.exists()
    seen = {**posted_back(answer), "shown-variants": ["algorithm=ppo", "algorithm.credit=trajectory"]}
    assert browser.post(NEW, seen).status_code == 302
    assert Run.objects.get().parsed_config().algorithm.type == "ppo"


def test_turns_that_may_fill_the_context_are_a_warning(browser: Client) -> None:
    config = EnvironmentConfig(kind="webshop", tag="Shop", parameters={"num_products": 100})  # 9 turns of 200 tokens
    shop = define_unmeasured(name="Shop", config=config)
    warnings = browser.post(CHECK, filled_in(shop)).json()["warnings"]
    assert any("Shop: 9 turns of up to 200 tokens may take 1,800 tokens" in one for one in warnings)
    assert not browser.post(CHECK, filled_in(shop, rollout__max_context_tokens="1800")).json()["warnings"]
    short = filled_in(shop, rollout__context__type="last_k_turns")
    assert not [one for one in browser.post(CHECK, short).json()["warnings"] if "Shop" in one]


def test_what_most_people_set_is_shown_first_and_only_there(browser: Client, lake: EnvironmentVersion) -> None:
    text = browser.get(NEW).content.decode()
    for name in ESSENTIALS:
        assert text.count(f'name="{name}"') == 1
        assert text.index(f'name="{name}"') < text.index("All other settings")


def test_each_section_counts_what_differs_from_the_preset(browser: Client, lake: EnvironmentVersion) -> None:
    config = run_presets()["starter"].config().model_dump(mode="json")
    config["loss"] |= {"clip_low": 0.1, "clip_high": 0.4}
    config["optimizer"]["learning_rate"] = 0.5  # essential, so its section does not count it
    source = Run.objects.create(name="source", preset="Starter", config=config)
    sections = browser.get(f"{NEW}?clone={source.pk}").context["sections"]
    assert {section.key: section.changed for section in sections if section.changed} == {"loss": 2}


def test_a_step_of_absurd_size_is_warned_about_with_its_numbers(browser: Client, lake: EnvironmentVersion) -> None:
    fields = filled_in(lake, rollout__groups="1000", rollout__group_size="256")
    warnings = " ".join(browser.post("/runs/check/", fields).json()["warnings"])
    assert "1,000 groups of 256 are 256,000 trajectories" in warnings
    few = filled_in(lake, rollout__groups="16", rollout__group_size="8")
    assert "trajectories" not in " ".join(browser.post("/runs/check/", few).json()["warnings"])


def test_a_model_of_another_size_than_the_presets_gets_the_defaults_for_its_size(
    browser: Client, lake: EnvironmentVersion
) -> None:
    answer = browser.post(CHECK, filled_in(lake, model__path="Qwen/Qwen2.5-7B-Instruct")).json()
    assert answer["sized"]["title"] == "more than 4 billion parameters"
    changes = {change["field"]: change["value"] for change in answer["sized"]["changes"]}
    assert changes == {
        "optimizer.learning_rate": "1e-05",
        "optimizer.gradient_checkpointing": "true",
        "optimizer.precision": "bfloat16",
        "model.lora.rank": "64",
        "model.lora.alpha": "64.0",
        "rollout.max_context_tokens": "3600",
        "evaluation.episodes_at_once": "128",
        "response_tokens": "400",
    }
    assert browser.post(CHECK, filled_in(lake)).json()["sized"] is None
    assert browser.post(CHECK, filled_in(lake, model__path="someone/of-unknown-size")).json()["sized"] is None


def test_the_forms_limit_of_a_response_replaces_that_of_the_environment(
    browser: Client, lake: EnvironmentVersion
) -> None:
    browser.post(NEW, {**filled_in(lake), "response_tokens": "64"})
    run = Run.objects.get()
    assert run.parsed_config().environments[0].max_response_tokens == 64
    clone = browser.get(f"{NEW}?clone={run.pk}")
    assert clone.context["response_tokens"] == "64"
    refused = browser.post(CHECK, {**filled_in(lake), "response_tokens": "many"}).json()
    assert "whole number" in refused["errors"]["response_tokens"]
