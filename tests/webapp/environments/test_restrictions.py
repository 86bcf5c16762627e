"""What only administrators may configure: servers, files and code of the machine."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.environments.test_pages import form_data
from webapp.environments.models import EnvironmentVersion
from webapp.launching.requests import Refused, Wanted, prepare

OWN = "tests.engine.environment_calls.misbehaving:Sound"


@pytest.fixture
def administrator(client: Client, user: User) -> Client:
    User.objects.filter(pk=user.pk).update(is_staff=True)
    client.force_login(user)
    return client


def save(browser: Client, kind: str, **changes: Any) -> Any:
    return browser.post("/environments/new/", form_data(kind, **changes), query_params={"kind": kind})


def test_a_file_of_the_server_is_named_by_administrators_only(browser: Client) -> None:
    answer = save(browser, "webshop", **{"parameters.directory": "/etc"})
    assert answer.status_code == 400
    assert "Only an administrator may configure this." in answer.context["form"].errors["parameters.directory"]
    assert save(browser, "webshop").status_code == 302


def test_a_server_is_configured_by_administrators_only(browser: Client) -> None:
    assert "Only an administrator may configure this." in browser.get("/environments/new/?kind=http").content.decode()
    answer = browser.post("/environments/preview/", {**form_data("http"), "parameters.url": "http://127.0.0.1:1/"})
    assert "Only an administrator" in " ".join(answer.json()["errors"][""])


def test_a_class_of_one_s_own_is_named_by_administrators_only(browser: Client) -> None:
    page = browser.get("/environments/new/", {"kind": OWN})
    assert page.context["form"].kind_name == "frozen_lake"
    assert "Naming a class runs its code" in page.content.decode()
    assert browser.post("/environments/preview/", {**form_data(), "kind": OWN}).status_code == 422


def test_an_administrator_defines_an_environment_of_a_class(administrator: Client) -> None:
    assert administrator.get("/environments/new/", {"kind": OWN}).context["refused_class"] == ""
    assert save(administrator, OWN).status_code == 302
    version = EnvironmentVersion.objects.get()
    assert (version.kind, version.facts["drawing"]) == (OWN, {"type": "text", "text": ""})
    answer = administrator.post(
        "/environments/play/",
        {"version": version.pk, "seed": "1", "response": ["<think></think><answer>yes</answer>"]},
    ).json()
    assert (answer["now"]["success"], answer["now"]["actions"]) == (True, None)


def test_a_class_that_is_none_is_named(administrator: Client) -> None:
    page = administrator.get("/environments/new/", {"kind": "os:system"})
    assert "not an environment" in page.context["refused_class"]


def test_a_saved_environment_lends_its_permission_to_no_other_kind(user: User, lake: EnvironmentVersion) -> None:
    """Its parameters are the defaults of each kind: none."""
    usual = Wanted(preset="starter", environment="Lake")
    assert prepare(usual, user).version == lake
    with pytest.raises(Refused, match="Only an administrator may configure this"):
        prepare(Wanted(preset="starter", environment="Lake", overrides={"environments.0.kind": "verifiers"}), user)
