"""Suites as rows: frozen once used, evaluated once for the same inputs, and with models that may be used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from engine.policies.model_paths import BUNDLED
from tests.builders.runs import build_run
from tests.builders.suites import document, outcomes_of, suite_evaluation, suite_version
from webapp.jobs import JobState, Refused
from webapp.runs.models import Checkpoint, Run
from webapp.suites import catalogue, services
from webapp.suites.definition_text import definition_of, renamed
from webapp.suites.models import Suite, SuiteEvaluation, SuiteVersion
from webapp.suites.results import save_outcomes
from webapp.suites.services import AlreadyEvaluated

pytestmark = pytest.mark.django_db
ARMS = 'name = "arms"\n[[items]]\nname = "Arms"\nenvironment = { kind = "bandit" }\ncount = 4\n'
TINY = {"policy": "directory", "directory": "tiny"}


@pytest.fixture
def version(user: User) -> SuiteVersion:
    return catalogue.define(ARMS, user)


def with_checkpoint(seed: int = 3, weights: bytes = b"weights") -> Run:
    run = build_run(config={"seed": seed})
    Checkpoint.objects.create(run=run, step=7, path="checkpoints/step_7", bytes=1, reason="final", time=1.0)
    model = run.directory / "checkpoints/step_7/model"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(weights)
    return run


def test_a_definition_becomes_a_version_with_its_problems(version: SuiteVersion) -> None:
    suite = version.parsed()
    assert (version.number, version.definition, len(suite.items[0].problems)) == (1, ARMS, 4)
    assert version.frozen_at is None


def test_a_suite_with_training_problems_is_refused_by_name(user: User) -> None:
    text = 'name = "cheat"\n[[items]]\nname = "Lake"\nenvironment = { kind = "frozen_lake" }\nseeds = [0, 1, 2, 3]\n'
    with pytest.raises(Refused, match=r"Suite 'cheat' has training problems: in 'Lake' those of seeds \d"):
        catalogue.define(text, user)
    assert not Suite.objects.exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name = ", "is not TOML"),
        ('name = "a"', "items: missing"),
        (ARMS.replace('"arms"', '"Two Words"'), "name: must have|name: must match"),
        (ARMS.replace("count = 4", "count = 99999"), "more than 2,048 problems"),
        (ARMS.replace("count = 4", "temperatur = 1"), "temperatur: unknown field"),
        (ARMS.replace("bandit", "http"), "Only an administrator"),
        (ARMS.replace("bandit", "os:system"), "Only an administrator"),
        (ARMS.replace('"arms"', '"new"'), "there is a suite 'new' already"),
    ],
)
def test_a_definition_that_is_none_is_refused_with_the_reason(text: str, reason: str, user: User) -> None:
    with pytest.raises(Refused, match=reason):
        catalogue.define(text, user)


def test_an_unused_version_is_replaced_and_a_used_one_stays(version: SuiteVersion, user: User) -> None:
    warmer = ARMS.replace("count = 4", "count = 4\ntemperature = 1.0")
    replaced = catalogue.define(warmer, user, suite=version.suite)
    assert (replaced.number, version.suite.versions.count()) == (1, 1)
    services.submit(replaced, TINY, user)
    replaced.refresh_from_db()
    assert replaced.frozen_at is not None
    with pytest.raises(Refused, match="that of the newest version"):
        catalogue.define(warmer, user, suite=version.suite)
    other = catalogue.define(ARMS, user, suite=version.suite)
    assert (other.number, version.suite.versions.count()) == (2, 2)
    assert other.key != replaced.key


def test_suites_that_ship_are_loaded_once_and_a_users_own_name_is_kept(user: User) -> None:
    own = catalogue.define(ARMS.replace('"arms"', '"sokoban"'), user)
    added = catalogue.load_shipped()
    assert {one.suite.name for one in added} >= {"overall", "frozen-lake", "sokoban-generalisation"}
    assert own.suite.versions.count() == 1
    assert catalogue.load_shipped() == []
    shipped = Suite.objects.get(name="frozen-lake").latest
    shipped.document["items"][0]["temperature"] = 0.9  # as an older installation had it, never used
    shipped.save()
    [again] = catalogue.load_shipped()
    assert (again.number, again.parsed().items[0].temperature) == (1, 0.5)


def test_a_suite_can_be_started_from_another_one(version: SuiteVersion, user: User) -> None:
    other = catalogue.define(renamed(definition_of(version), "arms-2"), user)
    assert (other.suite.name, other.key) == ("arms-2", version.key)
    version.definition = ""  # of one that was imported, which has no text
    written = catalogue.define(renamed(definition_of(version), "arms-3"), user)
    assert written.key == version.key


def test_the_same_inputs_are_evaluated_once_unless_asked_for_again(
    version: SuiteVersion, user: User, settings: Settings
) -> None:
    settings.STARBOARD_MODEL_FOLDERS = [BUNDLED["tiny"].parent]
    first = services.submit(version, TINY, user)
    with pytest.raises(AlreadyEvaluated, match=f"is being evaluated on exactly these problems .* {first.pk}"):
        services.submit(version, {**TINY, "again": "1"}, user)  # not while it is live
    SuiteEvaluation.objects.filter(pk=first.pk).update(state=JobState.FINISHED)
    with pytest.raises(AlreadyEvaluated) as refused:
        services.submit(version, {**TINY, "directory": str(BUNDLED["tiny"])}, user)  # the same weights
    assert refused.value.earlier == first
    assert services.submit(version, {**TINY, "samples": "2"}, user).key != first.key  # other conditions
    assert services.submit(version, {**TINY, "directory": "tiny-bandit"}, user).key == first.key  # another model
    assert services.submit(version, {**TINY, "again": "1"}, user).again


def test_a_checkpoint_brings_its_run_step_seed_and_configuration(version: SuiteVersion, user: User) -> None:
    first, other, changed = with_checkpoint(3), with_checkpoint(4, b"other"), build_run(config={"steps": 9})
    one = services.submit(version, {"policy": "checkpoint", "checkpoint": f"{first.pk}@7"}, user)
    two = services.submit(version, {"policy": "checkpoint", "checkpoint": f"{other.pk}@7"}, user)
    assert (one.run, one.run_name, one.step, one.training_seed) == (first, first.name, 7, 3)
    assert one.configuration == two.configuration  # seeds of one configuration
    assert one.weights != two.weights
    assert first.audit.get().detail == {"step": 7, "suite": "arms v1"}
    with pytest.raises(Refused, match="The checkpoint of step 8 no longer exists"):
        services.submit(version, {"policy": "checkpoint", "checkpoint": f"{first.pk}@8"}, user)
    with pytest.raises(Refused, match="Choose a checkpoint of a run"):
        services.submit(version, {"policy": "checkpoint", "checkpoint": "nothing"}, user)
    assert changed.pk  # a run without a checkpoint changes nothing


@pytest.mark.parametrize("path", ["/etc", "relative/model", "", "/models/../etc", "tiny\0", "-x"])
def test_only_directories_of_the_configured_folders_are_evaluated(
    path: str, version: SuiteVersion, user: User, settings: Settings, tmp_path: Path
) -> None:
    settings.STARBOARD_MODEL_FOLDERS = [tmp_path / "models"]
    with pytest.raises(Refused, match="is not in a folder of models of this installation"):
        services.submit(version, {"policy": "directory", "directory": path}, user)
    folder = tmp_path / "models" / "mine"
    folder.mkdir(parents=True)
    with pytest.raises(Refused, match="has no config"):
        services.submit(version, {"policy": "directory", "directory": str(folder)}, user)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"0")
    assert services.submit(version, {"policy": "directory", "directory": str(folder)}, user).policy_name == "mine"


def test_endpoints_are_for_administrators_with_keys_that_are_listed(
    version: SuiteVersion, user: User, settings: Settings
) -> None:
    settings.STARBOARD_ENDPOINT_KEYS = ["OPENAI_API_KEY"]
    asked = {"policy": "endpoint", "endpoint": "http://127.0.0.1:9/v1", "endpoint_model": "moves"}
    with pytest.raises(Refused, match="Only an administrator"):
        services.submit(version, asked, user)
    user.is_staff = True
    for field, value, reason in (
        ("endpoint", "file:///etc/passwd", "Address: give"),
        ("endpoint", "http://user:secret@host/v1", "Address: give"),
        ("endpoint_model", "", "Model: give the name"),
        ("key_variable", "SECRET_KEY", "is not in STARBOARD_ENDPOINT_KEYS"),
    ):
        with pytest.raises(Refused, match=reason):
            services.submit(version, {**asked, field: value}, user)
    made = services.submit(version, {**asked, "key_variable": "OPENAI_API_KEY"}, user)
    assert (made.policy_name, made.key_variable, len(made.weights)) == ("moves", "OPENAI_API_KEY", 64)


def test_a_stopped_evaluation_is_resumed_and_a_finished_one_is_not(version: SuiteVersion, user: User) -> None:
    made = services.submit(version, TINY, user)
    assert made.stop()
    made.refresh_from_db()
    services.resume(made)
    assert made.state == JobState.QUEUED
    SuiteEvaluation.objects.filter(pk=made.pk).update(state=JobState.FINISHED)
    made.refresh_from_db()
    with pytest.raises(Refused, match="stopped or failed"):
        services.resume(made)
    assert services.again(made, user).again


def test_numbers_and_bits_come_from_the_outcomes() -> None:
    # 3 problems with 2 samples: 1, 1/2 and, of one scored sample, 0
    evaluation = suite_evaluation(
        {"Bandit": ["11", "01", "0-"]}, version=suite_version(document(problems=3, samples=2))
    )
    item = evaluation.items.get()
    assert (evaluation.planned, evaluation.played, evaluation.scored, evaluation.successes) == (6, 6, 5, 3)
    assert (item.success, item.success, item.interval[:15]) == (0.6, evaluation.success, "t over prompts,")
    assert (item.pass_at, item.tokens, item.malformed, item.stops["fault"]) == ({}, 60, 0, 1)
    bits = [np.unpackbits(np.frombuffer(one, np.uint8), count=6) for one in (item.solved, item.has_score)]
    assert [list(one) for one in bits] == [[1, 1, 0, 1, 0, 0], [1, 1, 1, 1, 1, 0]]
    save_outcomes(evaluation, outcomes_of(evaluation.suite(), {"Bandit": ["11", "11", "11"]}))
    item = evaluation.items.get()
    assert (item.success, item.pass_at, item.pass_all) == (1.0, {"1": 1.0, "2": 1.0}, {"1": 1.0, "2": 1.0})
    assert json.dumps(item.numbers())
