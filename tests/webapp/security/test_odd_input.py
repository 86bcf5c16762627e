"""Values that are not numbers, too long for one, or nested too deeply get an error response, never a server error."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.config import EnvironmentConfig
from tests.webapp.runs.rows import a_run
from webapp.environments.services import define
from webapp.forms.fields import FormField
from webapp.forms.values import parse
from webapp.live.consumers import _parsed, cursor_of
from webapp.reports.models import Report
from webapp.whole_numbers import whole_number

pytestmark = pytest.mark.django_db

# more digits than `int` takes, a non-ASCII digit, and a number too large for the column
ODD = ["9" * 5000, "²", "٣", "9" * 19, "-1", "1e3", " 1", ""]
DEEP = "[" * 3000  # deeper than the JSON parser allows


def cursor(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.fixture
def browser(client: Client) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


def test_whole_numbers_are_ascii_digits_that_fit_a_column() -> None:
    assert [whole_number(text) for text in ODD] == [None] * len(ODD)
    assert [whole_number(text) for text in ("0", "007", "9" * 18)] == [0, 7, 10**18 - 1]


@pytest.mark.parametrize("number", ODD)
def test_odd_numbers_in_a_query_cause_no_server_error(browser: Client, number: str) -> None:
    run = a_run()
    values = {"environment": number, "more-environment": number, "after": number}
    assert browser.get("/runs/new/", values).status_code == 200
    assert browser.get(f"/runs/{run.pk}/log/", values).status_code == (400 if number else 200)
    assert browser.get("/trajectories/", values).status_code == 200


@pytest.mark.parametrize("number", ODD)
def test_odd_numbers_in_a_form_cause_no_server_error(browser: Client, number: str) -> None:
    lake = define(name="Lake", config=EnvironmentConfig.model_validate({"kind": "frozen_lake", "tag": "Lake"}))
    run, source = a_run(), a_run()
    preview = "/environments/preview/"
    assert browser.post(preview, {"version": number}).status_code == 422
    assert browser.post(preview, {"version": lake.pk, "seed": number}).status_code == 422
    values = {"changes": '{"optimizer.learning_rate": 0.5}', "revision": number}
    assert browser.post(f"/runs/{run.pk}/settings/", values).status_code == 200
    for choice in (number, f"kept-{number}"):
        form = {"environment": lake.pk, "more-environment": choice, "clone": source.pk}
        errors = browser.post("/runs/check/", form).json()["errors"]
        assert errors["environments.1"] == "Select an environment, or remove this row."


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/runs/{run}/control/", {"action": "rename", "name": "gr\0een"}),
        ("/runs/{run}/labels/", {"notes": "gr\0een", "tags": "gr\0een,\0", "project": "gr\0een"}),
        ("/runs/bulk/", {"run": "{run},a\0", "action": "tag", "tags": "gr\0een"}),
        ("/reports/new/", {"title": "gr\0een", "text": "gr\0een"}),
    ],
)
def test_a_nul_in_a_form_is_left_out(browser: Client, path: str, data: dict[str, str]) -> None:
    """PostgreSQL cannot store it."""
    run = a_run()
    sent = {name: text.format(run=run.pk) for name, text in data.items()}
    assert browser.post(path.format(run=run.pk), sent).status_code == 302
    run.refresh_from_db()
    stored = [run.name, run.notes, run.project.name, *run.tags.values_list("name", flat=True)]
    stored += [text for report in Report.objects.all() for text in (report.title, report.text)]
    assert "green" in stored
    assert not [text for text in stored if "\0" in text]


def test_deeply_nested_json_is_refused(browser: Client) -> None:
    run = a_run()
    for address in ("/trajectories/", f"/runs/{run.pk}/trajectories/"):
        assert browser.get(address, {"after": cursor(DEEP)}).status_code == 200
    assert browser.post("/panels/", DEEP, content_type="application/json").status_code == 400
    symbols = FormField(name="symbols", label="Symbols", help="", kind="json", default="{}")
    assert "This is not JSON" in parse([symbols], {"symbols": DEEP})[1]["symbols"]


def test_odd_messages_and_cursors_do_not_break_a_socket() -> None:
    assert _parsed("[" * 1024) == {}
    assert [cursor_of(f"after={number}".encode()) for number in ODD] == [0] * len(ODD)
