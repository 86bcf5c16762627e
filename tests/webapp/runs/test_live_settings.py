"""Changing the settings of a live run on its page: what is validated, what is written, and what is audited."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.algorithms.filters import TopP
from tests.webapp.runs.rows import a_run
from webapp.audit.models import AuditEntry
from webapp.audit.services import entries
from webapp.run_pages.snapshot import run_snapshot
from webapp.runs.models import Run
from webapp.runs.services import request_pause, request_stop
from webapp.runs.states import RunState

pytestmark = pytest.mark.django_db


def change(browser: Client, run: Run, revision: int | str = "", **fields: Any) -> Any:
    changes = json.dumps({name.replace("__", "."): value for name, value in fields.items()})
    return browser.post(f"/runs/{run.pk}/settings/", {"changes": changes, "revision": revision})


def test_a_change_is_recorded_with_its_revision_and_author(browser: Client, user: User) -> None:
    run = a_run()
    answer = change(browser, run, optimizer__learning_rate="1e-5", filter={"type": "top_p"})
    assert answer.status_code == 200
    run.refresh_from_db()
    assert (run.settings_revision, run.settings_changes) == (
        1,
        {"optimizer.learning_rate": 1e-5, "filter": TopP().model_dump()},
    )
    entry = AuditEntry.objects.get(run=run, action="settings")
    assert (entry.who, entry.outcome) == ("ada", "done")
    assert entry.detail["changes"]["optimizer.learning_rate"] == {"old": 2e-4, "new": 1e-5}
    assert answer.json()["state"]["settings"]["revision"] == 1
    assert run_snapshot(run)["settings_by"] == {"1": "ada"}


def test_a_later_change_keeps_the_earlier_ones(browser: Client) -> None:
    run = a_run()
    change(browser, run, optimizer__learning_rate=1e-5)
    change(browser, run, loss__entropy_coefficient=0.01)
    run.refresh_from_db()
    assert run.settings_changes == {"optimizer.learning_rate": 1e-5, "loss.entropy_coefficient": 0.01}


def test_a_change_without_differences_requests_nothing(browser: Client) -> None:
    run = a_run()
    assert change(browser, run, optimizer__learning_rate=2e-4).json()["changes"] == {}
    run.refresh_from_db()
    assert run.settings_revision == 0


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"optimizer__learning_rate": 0}, "optimizer.learning_rate", "greater than 0"),
        ({"optimizer__learning_rate": "fast"}, "optimizer.learning_rate", "must be a number"),
        ({"filter": {"type": "top_p", "value": 3}}, "filter.value", "1 or less"),
        ({"loss__kl_coefficient": 0.1}, "", "in memory from the first step or not at all"),
        ({"steps": 4}, "", "cannot be changed during a run"),
        ({"detectors__rules": [{"name": "X", "kind": "below"}]}, "detectors.rules.0.name", "pattern"),
    ],
)
def test_an_invalid_value_is_refused_at_its_field(
    browser: Client, fields: dict[str, Any], field: str, reason: str
) -> None:
    run = a_run()
    answer = change(browser, run, **fields)
    assert answer.status_code == 422
    assert reason in answer.json()["errors"][field]
    run.refresh_from_db()
    assert run.settings_changes == {}
    assert AuditEntry.objects.get(run=run).outcome == "refused"


@pytest.mark.parametrize("text", ["", "[]", "{", "nothing", "[" * 100_000])
def test_a_change_that_is_not_an_object_is_refused(browser: Client, text: str) -> None:
    answer = browser.post(f"/runs/{a_run().pk}/settings/", {"changes": text})
    assert answer.status_code == 422
    assert "JSON object" in answer.json()["errors"][""]


def test_concurrent_changes_do_not_overwrite_each_other(browser: Client) -> None:
    run = a_run()
    assert change(browser, run, revision=0, optimizer__learning_rate=1e-5).status_code == 200
    late = change(browser, run, revision=0, optimizer__learning_rate=1e-6)
    assert late.status_code == 409
    assert "in the meantime" in late.json()["errors"][""]


def test_an_ended_run_must_be_forked(browser: Client) -> None:
    answer = change(browser, a_run(state=RunState.FINISHED), optimizer__learning_rate=1e-5)
    assert answer.status_code == 409
    assert "Fork it" in answer.json()["errors"][""]


def test_the_control_view_shows_current_and_launch_settings(browser: Client) -> None:
    run = a_run()
    change(browser, run, optimizer__learning_rate=1e-5)
    page = browser.get(f"/runs/{run.pk}/").content.decode()
    assert 'name="optimizer.learning_rate" value="1e-05"' in page
    assert 'data-preset="0.0002"' in page
    assert "Launched with 0.0002." in page


def test_every_request_is_recorded_including_refused_ones(user: User) -> None:
    run = a_run()
    request_pause(run, user)
    request_pause(run, user)
    request_stop(run)
    history = [(entry["who"], entry["description"], entry["refused"]) for entry in entries(run)]
    assert history == [
        ("Starboard", "requested a stop", False),
        ("ada", "requested a pause", True),
        ("ada", "requested a pause", False),
    ]


def test_audit_entries_cannot_be_changed_or_deleted(user: User) -> None:
    run = a_run()
    request_pause(run, user)
    entry = AuditEntry.objects.get()
    for attempt in (
        entry.save,
        entry.delete,
        AuditEntry.objects.all().delete,
        lambda: AuditEntry.objects.update(who="eve"),
    ):
        with pytest.raises(TypeError, match="cannot be"):
            attempt()
    user.delete()
    assert AuditEntry.objects.get().who == "ada"


def test_the_history_shows_the_audit_log(browser: Client) -> None:
    run = a_run()
    change(browser, run, optimizer__learning_rate=1e-5)
    page = browser.get(f"/runs/{run.pk}/history/").content.decode()
    assert "changed settings" in page
    assert "optimizer.learning_rate 0.0002 → 1e-05" in page
