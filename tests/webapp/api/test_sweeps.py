"""Sweeps by programs: planned without launching, created once per key, read with effects, controlled, extended."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.sweeps.sweeping import a_sweep, finish
from webapp.runs.models import Run
from webapp.sweeps.models import Sweep

pytestmark = pytest.mark.django_db

SWEEPS = "/api/v1/sweeps/"
DEFINITION = {
    "title": "kl", "base": "starter", "changes": {"steps": 5},
    "plan": {"axes": [{"type": "values", "field": "loss.kl_coefficient", "values": [0, 0.1]}], "seeds": [1, 2]},
}  # fmt: skip
TOML = """
title = "kl"
base = "starter"
changes = { steps = 5 }
[plan]
seeds = [1, 2]
[[plan.axes]]
field = "loss.kl_coefficient"
type = "values"
values = [0, 0.1]
"""


def send(browser: Client, address: str, body: object, key: str | None = None) -> Any:
    headers = {"Idempotency-Key": key} if key is not None else {}
    return browser.post(address, json.dumps(body), content_type="application/json", headers=headers)


def test_a_plan_says_what_would_be_trained_and_launches_nothing(browser: Client) -> None:
    answer = send(browser, "/api/v1/sweep-plans/", {"definition": DEFINITION, "at_once": 2})
    assert answer.status_code == 200, answer.json()
    found = answer.json()
    assert (found["runs"], found["steps"], found["seeds"], found["engine_seconds"]) == (4, 20, [1, 2], None)
    assert [one["labels"] for one in found["configurations"]] == [
        {"loss.kl_coefficient": "0"}, {"loss.kl_coefficient": "0.1"},
    ]  # fmt: skip
    wrong = {**DEFINITION, "plan": {"axes": [{"type": "values", "field": "loss.kl_coefficient", "values": [-1]}]}}
    problems = send(browser, "/api/v1/sweep-plans/", {"definition": wrong}).json()["problems"]
    assert problems == ["loss.kl_coefficient = -1: must be 0 or more, got -1"]
    assert not Sweep.objects.exists() and not Run.objects.exists()


def test_json_and_toml_create_the_same_sweep_and_a_key_creates_one(browser: Client, user: User) -> None:
    one = send(browser, SWEEPS, {"definition": DEFINITION, "at_once": 2}, key="k-1")
    again = send(browser, SWEEPS, {"definition": DEFINITION, "at_once": 2}, key="k-1")
    assert (one.status_code, again.status_code) == (201, 201)
    assert one.json() == again.json() and again["Idempotency-Replayed"] == "true"
    other = send(browser, SWEEPS, {"toml": TOML, "name": "mine", "priority": "high", "retries": 3})
    first, second = Sweep.objects.order_by("pk")
    assert (first.plan, first.config) == (second.plan, second.config)
    assert (first.name, first.owner, first.at_once) == ("kl", user, 2)
    assert (second.name, second.retries, second.priority) == ("mine", 3, 1000)
    assert other.json()["counts"]["total"] == 4 and Run.objects.filter(planned__sweep=first).count() == 2


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({}, "", "none of them was sent"),
        ({"preset": "kl", "toml": TOML}, "", "preset and toml was sent"),
        ({"preset": "nope"}, "preset", "algorithm"),
        ({"toml": "title ="}, "toml", "not TOML"),
        ({"definition": {**DEFINITION, "base": "nope"}}, "base", "starter"),
        ({"definition": {**DEFINITION, "plam": {}}}, "plam", ""),
        ({"definition": {**DEFINITION, "plan": {"axes": [{"type": "values", "field": "steps", "values": [0]}]}}},
         "plan", "steps = 0: "),
        ({"definition": DEFINITION, "seeds": list(range(20))}, "confirm", "These are 40 runs."),
        ({"definition": DEFINITION, "seeds": list(range(20)), "confirm": 39}, "confirm", "40 runs, not 39"),
    ],
)  # fmt: skip
def test_what_cannot_be_swept_is_refused_at_its_field(body: object, field: str, says: str, browser: Client) -> None:
    answer = send(browser, SWEEPS, body)
    assert answer.status_code == 422, answer.json()
    assert says in answer.json()["errors"][field]
    assert not Sweep.objects.exists()


def test_many_runs_are_launched_with_their_number(browser: Client) -> None:
    body = {"definition": DEFINITION, "seeds": list(range(20)), "confirm": 40}
    assert send(browser, SWEEPS, body).json()["counts"]["total"] == 40


def test_a_sweep_is_read_with_the_effects_of_its_axes(browser: Client, user: User) -> None:
    sweep = a_sweep(user)
    # held-out success: 0.4 and 0.6 with a KL coefficient of 0, by seed; a tenth less with 0.1
    finish(sweep, lambda row: (40 if row.seed == 1 else 60) - (10 if row.labels["loss.kl_coefficient"] == "0.1" else 0))
    found = browser.get(f"{SWEEPS}{sweep.pk}/").json()
    assert (found["state"], found["counts"]["finished"], found["owner"]) == ("finished", 8, user.username)
    effect = next(one for one in found["effects"] if one["axis"] == "loss.kl_coefficient")
    assert [(level["label"], round(level["mean"], 3), level["seeds"]) for level in effect["levels"]] == [
        ("0", 0.5, 2), ("0.1", 0.4, 2),
    ]  # fmt: skip
    assert found["best"]["labels"]["loss.kl_coefficient"] == "0"
    assert {one["state"] for row in found["configurations"] for one in row["runs"]} == {"finished"}
    assert browser.get(f"{SWEEPS}999/").status_code == 404


def test_sweeps_are_listed_page_by_page(browser: Client, user: User) -> None:
    for name in ("one", "two", "three"):
        a_sweep(user, name=name, plan={"axes": [], "seeds": [1]})
    first = browser.get(SWEEPS, {"limit": 2}).json()
    assert [one["name"] for one in first["sweeps"]] == ["three", "two"]
    second = browser.get(SWEEPS, {"limit": "2", "after": str(first["next"])}).json()
    assert [one["name"] for one in second["sweeps"]] == ["one"] and second["next"] is None
    assert browser.get(SWEEPS, {"limit": "2", "after": "x"}).status_code == 400
    other = {"limit": "1", "name": "o", "after": str(first["next"])}
    assert browser.get(SWEEPS, other).status_code == 400


def test_a_sweep_is_stopped_resumed_changed_and_extended(browser: Client, user: User) -> None:
    sweep = a_sweep(user)
    address = f"{SWEEPS}{sweep.pk}/"
    assert send(browser, f"{address}control", {"action": "stop"}).json()["state"] == "stopped"
    assert send(browser, f"{address}control", {"action": "stop"}).status_code == 409
    assert send(browser, f"{address}control", {"action": "resume"}).json()["counts"]["live"] == 2
    changed = send(browser, f"{address}limits", {"at_once": 3}).json()
    assert (changed["at_once"], changed["retries"], changed["counts"]["live"]) == (3, 1, 3)
    more = send(browser, f"{address}extend", {"seeds": [3], "values": {"loss.kl_coefficient": [0.2]}}).json()
    assert more["added"] == 3 * 2 * 3 - 8 and more["seeds"] == [1, 2, 3]
    refused = send(browser, f"{address}extend", {"values": {"nope": [1]}})
    assert refused.status_code == 422 and "The axes are loss.kl_coefficient, steps" in refused.json()["error"]
    assert send(browser, f"{address}extend", {"points": 30}).json()["added"] == 0


def test_sweeps_that_ship_are_listed_and_created_by_their_key(browser: Client) -> None:
    presets = browser.get("/api/v1/sweep-presets/").json()["presets"]
    assert "slip_rate" in [one["key"] for one in presets]
    assert send(browser, "/api/v1/sweep-plans/", {"preset": "slip_rate"}).json()["problems"] == []
