"""Chart layouts: saved for their owner, readable by everyone through their URL, and containing only metric names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.metrics import describe
from tests.webapp.members.people import join
from webapp.panels.models import PanelLayout
from webapp.panels.presets import PRESETS
from webapp.projects.models import Role, default_project

pytestmark = pytest.mark.django_db
CHARTS = [["rollout/success", "reward/mean"], ["policy/entropy"]]


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def browser(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


def send(browser: Client, address: str, body: object, method: str = "post") -> Any:
    return getattr(browser, method)(address, json.dumps(body), content_type="application/json")


def a_layout(owner: User) -> PanelLayout:
    return PanelLayout.objects.create(owner=owner, name="mine", charts=CHARTS)


def test_a_layout_is_saved_and_listed_only_for_its_owner(browser: Client, ada: User) -> None:
    a_layout(User.objects.create_user("bob"))
    answer = send(browser, "/panels/", {"name": " Entropy ", "charts": CHARTS, "log": [None, True]})
    assert answer.status_code == 201
    kept = PanelLayout.objects.get(owner=ada)
    expected = {"id": kept.pk, "name": "Entropy", "charts": CHARTS, "log": [None, True], "mine": True, "owner": "ada"}
    assert answer.json() == expected
    assert browser.get("/panels/").json() == {"layouts": [expected]}


def test_who_shares_a_project_opens_a_layout_by_url_and_only_its_owner_can_change_it(browser: Client) -> None:
    theirs = a_layout(User.objects.create_user("bob"))
    address = f"/panels/{theirs.pk}/"
    assert browser.get(address).status_code == 404
    join(theirs.owner, Role.VIEWER, default_project())
    assert browser.get(address).json()["mine"] is False
    assert send(browser, address, {"name": "x", "charts": [["a/b"]]}, "put").status_code == 403
    assert browser.delete(address).status_code == 403
    theirs.refresh_from_db()
    assert (theirs.name, theirs.charts) == ("mine", CHARTS)


def test_an_owner_edits_and_deletes_a_layout(browser: Client, ada: User) -> None:
    mine = a_layout(ada)
    answer = send(browser, f"/panels/{mine.pk}/", {"name": "other", "charts": [["a/b"]]}, "put")
    assert (answer.status_code, answer.json()["charts"]) == (200, [["a/b"]])
    assert browser.delete(f"/panels/{mine.pk}/").status_code == 204
    assert not PanelLayout.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"name": "", "charts": CHARTS},
        {"name": "x", "charts": []},
        {"name": "x", "charts": [[]]},
        {"name": "x", "charts": [["a"] * 9]},  # at most eight per chart
        {"name": "x", "charts": [["a"]] * 61},  # sixty charts at most
        {"name": "x", "charts": [["a\0"]]},
        {"name": "x", "charts": [["\ud800"]]},
        {"name": "x\0", "charts": CHARTS},
        {"name": "x", "charts": CHARTS, "owner": 1},
    ],
)
def test_an_invalid_layout_is_refused_with_a_reason(browser: Client, body: object) -> None:
    answer = send(browser, "/panels/", body)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert not PanelLayout.objects.exists()


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.key)
def test_every_metric_of_a_preset_is_in_the_glossary(preset: Any) -> None:
    names = [name for chart in preset.charts for name in chart.names if not name.endswith("*")]
    assert [name for name in names if "no entry" in describe(name).meaning] == []
    assert len(set(names)) == len(names)


def test_the_presets_cover_the_common_views_and_have_distinct_keys() -> None:
    keys = [preset.key for preset in PRESETS]
    assert {"overview", "stability", "collapse", "filter", "optimisation", "throughput", "environment"} <= set(keys)
    assert len(set(keys)) == len(keys)
