"""A model named by a path lies in the configured folders, at each door; refusals say nothing of other paths."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from engine.policies.model_paths import BUNDLED
from tests.webapp.launching.test_new_run import CHECK, filled_in
from tests.webapp.members.people import a_member
from webapp.environments.model_access import is_hub_id, may_be_named
from webapp.environments.models import EnvironmentVersion
from webapp.projects.models import Role
from webapp.projects.reader import reading_as
from webapp.suites.catalogue import define as define_suite

pytestmark = pytest.mark.django_db

WORDS = "is not in a folder of models of this installation"
ARMS = 'name = "arms"\n[[items]]\nname = "Arms"\nenvironment = { kind = "bandit" }\ncount = 4\n'
Door = Callable[[Client, EnvironmentVersion, str], str]


@pytest.fixture
def folder(settings: Settings, tmp_path: Path) -> Path:
    """Of models, beside one that has a model and is not configured."""
    settings.STARBOARD_MODEL_FOLDERS = [tmp_path / "models"]
    for name in ("models/mine", "elsewhere/theirs"):
        made = tmp_path / name
        made.mkdir(parents=True)
        for file in BUNDLED["tiny"].iterdir():
            (made / file.name).symlink_to(file)
    return tmp_path / "models"


@pytest.fixture
def editor() -> User:
    a_member("first", Role.ADMIN)
    return a_member("grace", Role.EDITOR)


@pytest.fixture
def site(editor: User) -> Client:
    client = Client()
    client.force_login(editor)
    return client


def allowed(path: Path | str, user: User) -> bool:
    with reading_as(user):
        return may_be_named(str(path))


def test_folders_shipped_models_and_ids_of_the_hub_may_be_named(folder: Path, editor: User) -> None:
    for path in (folder / "mine", folder / "not-there-yet", BUNDLED["tiny"], "engine/models/tiny/weights", "tiny"):
        assert allowed(path, editor), path
    for name in ("gpt2", "Qwen/Qwen2.5-0.5B-Instruct", "x" * 300):
        assert allowed(name, editor), name


@pytest.mark.parametrize(
    "spelling",
    [
        "{0}/elsewhere/theirs", "{0}/models/../elsewhere/theirs", "{0}/models-evil", "{0}/models/link", "/etc", "/",
        "~", "~root", "./var", "../elsewhere", "var/secret_key", "var", "..", "a/b/c", "{0}/models\0/mine", "file:///etc",
    ],
)  # fmt: skip
def test_other_paths_may_not_however_they_are_spelled(folder: Path, editor: User, spelling: str) -> None:
    (folder / "link").symlink_to(folder.parent / "elsewhere" / "theirs")
    (folder / "circle").symlink_to(folder / "circle")
    assert not allowed(spelling.format(folder.parent), editor)


def test_a_text_that_begins_like_a_directory_of_the_program_is_no_id() -> None:
    assert not is_hub_id("webapp/models")
    assert not is_hub_id("webapp/nothing")
    assert is_hub_id("some-lab/webapp")


def test_administrators_name_any_path_where_the_site_serves_its_own_machine_alone(
    folder: Path, settings: Settings
) -> None:
    root = User.objects.create_user("root", is_staff=True)
    elsewhere = folder.parent / "elsewhere" / "theirs"
    assert allowed(elsewhere, root)
    settings.STARBOARD_EXTRA_ORIGINS = ["https://starboard.example.org"]
    assert not allowed(elsewhere, root)
    settings.STARBOARD_EXTRA_ORIGINS, settings.STARBOARD_BIND = [], "0.0.0.0"
    assert not allowed(elsewhere, root)


# The doors. Each returns what it says of a path; `{}` stands for the path itself.


def form(site: Client, lake: EnvironmentVersion, path: str) -> str:
    return str(site.post(CHECK, filled_in(lake, model__path=path)).json())


def inspection(site: Client, lake: EnvironmentVersion, path: str) -> str:
    answer = site.get("/models/", {"path": path})
    return str([answer.context.get("failure"), (answer.context.get("report") or {}).get("problems")])


def api(site: Client, lake: EnvironmentVersion, path: str) -> str:
    body = {"preset": "starter", "overrides": {"model.path": path}}
    return site.post("/api/v1/runs/", json.dumps(body), content_type="application/json").content.decode()


def sweep(site: Client, lake: EnvironmentVersion, path: str) -> str:
    axis = {"type": "values", "field": "model.path", "values": ["tiny", path]}
    body = {"definition": {"base": "starter", "plan": {"axes": [axis], "seeds": [1]}}}
    return site.post("/api/v1/sweep-plans/", json.dumps(body), content_type="application/json").content.decode()


def preflight(site: Client, lake: EnvironmentVersion, path: str) -> str:
    data = {"player": "model", "model": path, "problems": "4", "rollouts": "2", "first_seed": "0"}
    answer = site.post(f"/environments/{lake.definition_id}/preflight/", data)
    return str(answer.context["problem"]) if answer.status_code == 422 else ""


def evaluation(site: Client, lake: EnvironmentVersion, path: str) -> str:
    answer = site.post("/suites/arms/evaluate/", {"policy": "directory", "directory": path})
    return str(answer.context["problem"]) if answer.status_code == 422 else ""


def evaluation_by_api(site: Client, lake: EnvironmentVersion, path: str) -> str:
    body = {"suite": "arms", "policy": "directory", "directory": path}
    return site.post("/api/v1/evaluations/", json.dumps(body), content_type="application/json").content.decode()


DOORS = [form, inspection, api, sweep, preflight, evaluation, evaluation_by_api]


@pytest.mark.parametrize("door", DOORS)
def test_a_path_elsewhere_is_refused_in_the_same_words_whether_or_not_it_exists(
    door: Door, site: Client, lake: EnvironmentVersion, folder: Path
) -> None:
    define_suite(ARMS, None)
    elsewhere = folder.parent / "elsewhere"
    there, missing = (door(site, lake, str(elsewhere / name)) for name in ("theirs", "absent"))
    assert WORDS in there
    assert there.replace("theirs", "absent") == missing


@pytest.mark.parametrize("door", DOORS)
def test_a_model_in_the_folders_is_not_refused(
    door: Door, site: Client, lake: EnvironmentVersion, folder: Path
) -> None:
    define_suite(ARMS, None)
    assert WORDS not in door(site, lake, str(folder / "mine"))


def test_the_size_of_a_model_elsewhere_is_not_shown(site: Client, lake: EnvironmentVersion, folder: Path) -> None:
    answer = site.post(CHECK, filled_in(lake, model__path=str(folder.parent / "elsewhere" / "theirs"))).json()
    assert answer["sized"] is None
    assert answer["memory"] == []
