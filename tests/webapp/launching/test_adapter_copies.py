"""The adapter that runs start from is copied before the transaction that creates them, and nothing stays of a refused
launch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.signals import post_save
from django.test import Client
from pytest_django import Settings

from engine.starting_adapter import with_pinned_adapter
from tests.engine.adapters import save_small_adapter
from tests.engine.models import save_small_model
from tests.webapp.idempotency.test_forms import token_of
from tests.webapp.launching.test_new_run import NEW, filled_in
from webapp.environments.models import EnvironmentVersion
from webapp.runs.models import Run
from webapp.runs.quotas import QuotaExceeded
from webapp.sweeps.models import Sweep

pytestmark = pytest.mark.django_db(transaction=True)

KEY = {"Idempotency-Key": "one"}
WEIGHTS = "adapter_model.safetensors"
PLAN = {"axes": [{"type": "values", "field": "steps", "values": [2, 3]}], "seeds": [1]}


@pytest.fixture
def model(settings: Settings, tmp_path: Path) -> dict[str, str]:
    settings.STARBOARD_MODEL_FOLDERS = [tmp_path / "models"]
    base, adapter = save_small_model(tmp_path / "models/base"), save_small_adapter(tmp_path / "models/adapter")
    return {"path": str(base), "adapter": str(adapter)}


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each copy of weights, whether a transaction was open."""
    found: list[bool] = []
    copyfile = shutil.copyfile

    def observed(source: Any, target: Any, **options: Any) -> Any:
        if Path(source).name == WEIGHTS:
            found.append(connection.in_atomic_block)
        return copyfile(source, target, **options)

    monkeypatch.setattr(shutil, "copyfile", observed)
    return found


@contextmanager
def refused_at_run(number: int) -> Iterator[None]:
    """The transaction fails when that many runs were saved."""

    def refuse(sender: Any, **_: Any) -> None:
        if Run.objects.count() == number:
            raise QuotaExceeded("Too many.")

    post_save.connect(refuse, sender=Run)
    try:
        yield
    finally:
        post_save.disconnect(refuse, sender=Run)


def post(browser: Client, path: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> Any:
    return browser.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json", headers=headers or {})


def posted(browser: Client, lake: EnvironmentVersion, model: dict[str, str], seeds: str) -> Any:
    fields = filled_in(lake, model__path=model["path"], model__adapter=model["adapter"], seed=seeds)
    return browser.post(NEW, {**fields, **token_of(browser, NEW)})


def assert_whole(model: dict[str, str]) -> None:
    weights = (Path(model["adapter"]) / WEIGHTS).read_bytes()
    for run in Run.objects.all():
        pinned = with_pinned_adapter(run.parsed_config(), run.directory)
        assert pinned.model.adapter == str(run.directory / "start/adapter")
        assert Path(pinned.model.adapter, WEIGHTS).read_bytes() == weights


def test_runs_of_a_form_start_from_one_copy_that_is_made_before_their_transaction(
    browser: Client, lake: EnvironmentVersion, model: dict[str, str], copied: list[bool], runs_directory: Path
) -> None:
    assert posted(browser, lake, model, "1-3").status_code == 302
    assert copied == [False]
    assert Run.objects.count() == 3 == len([*runs_directory.iterdir()])
    assert_whole(model)


@pytest.mark.parametrize("headers", [{}, KEY])
def test_a_program_launches_a_run_with_a_copy_that_is_made_before_its_transaction(
    browser: Client, model: dict[str, str], copied: list[bool], headers: dict[str, str]
) -> None:
    body = {"config": {"model": model}}
    answers = [post(browser, "runs/", body, headers) for _ in range(2 if headers else 1)]
    assert [answer.status_code for answer in answers] == [201] * len(answers), answers[0].content
    assert copied == [False] and Run.objects.count() == 1
    assert_whole(model)


def test_a_run_is_launched_again_with_a_copy_that_is_made_before_its_transaction(
    browser: Client, model: dict[str, str], copied: list[bool]
) -> None:
    first = post(browser, "runs/", {"config": {"model": model}}).json()["id"]
    browser.post(f"/runs/{first}/again/", token_of(browser, NEW))
    assert copied == [False, False] and Run.objects.count() == 2
    assert_whole(model)


@pytest.mark.parametrize("headers", [{}, KEY])
def test_a_sweep_is_created_with_a_copy_that_is_made_before_its_transaction(
    browser: Client, model: dict[str, str], copied: list[bool], headers: dict[str, str]
) -> None:
    body = {"definition": {"config": {"model": model}, "plan": PLAN}, "at_once": 2}
    answer = post(browser, "sweeps/", body, headers)
    assert answer.status_code == 201, answer.content
    assert copied == [False] and Run.objects.count() == 2 and Sweep.objects.count() == 1
    assert_whole(model)


def test_nothing_stays_on_disk_of_a_launch_that_is_refused_after_the_copy(
    browser: Client, lake: EnvironmentVersion, model: dict[str, str], copied: list[bool], runs_directory: Path
) -> None:
    with refused_at_run(2):
        assert posted(browser, lake, model, "1-3").status_code == 422
    with refused_at_run(1):
        assert post(browser, "runs/", {"config": {"model": model}}, KEY).status_code == 403
    assert copied == [False, False] and not Run.objects.exists()
    assert [*runs_directory.iterdir()] == []


def test_a_copy_that_fails_is_an_error_at_its_field_and_leaves_nothing(
    browser: Client, lake: EnvironmentVersion, user: User, model: dict[str, str], runs_directory: Path
) -> None:
    runs_directory.touch()  # a file where the directory should be
    answer = posted(browser, lake, model, "1-3")
    assert answer.status_code == 422 and "could not be copied into the directory of runs" in answer.content.decode()
    answer = post(browser, "runs/", {"config": {"model": model}}, KEY)
    assert answer.status_code == 409 and "could not be copied" in answer.json()["error"]
    assert runs_directory.read_bytes() == b"" and not Run.objects.exists()
