"""A form that is submitted twice, as by a double click, is acted on once, whatever it makes."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from tests.builders.runs import build_run
from tests.builders.suites import document, suite_version
from tests.webapp.launching.test_new_run import filled_in
from tests.webapp.sweeps.test_pages import KL_ROW, form
from webapp.environments.models import EnvironmentVersion, Preflight
from webapp.idempotency.forms import FIELD
from webapp.idempotency.models import IdempotentRequest
from webapp.reports.models import Report
from webapp.runs.models import Run
from webapp.suites.models import SuiteEvaluation
from webapp.sweeps.models import Sweep

pytestmark = pytest.mark.django_db


def token_of(browser: Client, address: str) -> dict[str, str]:
    """The field as the page has it."""
    found = re.search(rf'name="{FIELD}" value="([0-9a-f-]{{36}})"', browser.get(address).content.decode())
    assert found is not None, f"{address} has no token"
    return {FIELD: found[1]}


def test_a_sweep_is_launched_once_and_both_submissions_lead_to_it(browser: Client) -> None:
    fields = form(KL_ROW, **token_of(browser, "/sweeps/new/"))
    first, second = (browser.post("/sweeps/new/", fields) for _ in range(2))
    sweep = Sweep.objects.get()
    assert first.status_code == second.status_code == 302
    assert first["Location"] == second["Location"] == f"/sweeps/{sweep.pk}/"
    assert "This form was already submitted" in browser.get(second["Location"]).content.decode()


@pytest.mark.django_db(transaction=True)
def test_of_two_submissions_at_the_same_time_the_second_waits_for_the_first(browser: Client) -> None:
    fields = form(KL_ROW, **token_of(browser, "/sweeps/new/"))
    together = Barrier(2)

    def submit(_: int) -> str:
        own = Client()
        own.cookies = browser.cookies
        together.wait(timeout=30)
        try:
            return str(own.post("/sweeps/new/", fields)["Location"])
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        addresses = list(threads.map(submit, range(2)))
    assert addresses == [f"/sweeps/{Sweep.objects.get().pk}/"] * 2


def test_a_run_is_launched_once_and_so_are_its_seeds(browser: Client, lake: EnvironmentVersion) -> None:
    fields = filled_in(lake) | token_of(browser, "/runs/new/")
    first, second = (browser.post("/runs/new/", fields) for _ in range(2))
    assert first["Location"] == second["Location"] == f"/runs/{Run.objects.get().pk}/"
    seeds = filled_in(lake, seed="1-3") | token_of(browser, "/runs/new/")
    first, second = (browser.post("/runs/new/", seeds) for _ in range(2))
    assert first["Location"] == second["Location"] and Run.objects.count() == 1 + 3


def test_a_preset_is_started_once(browser: Client) -> None:
    fields = {"preset": "starter", **token_of(browser, "/runs/")}
    for _ in range(2):
        assert browser.post("/runs/quick-start/", fields).status_code == 302
    assert Run.objects.count() == 1


def test_a_model_that_is_evaluated_again_is_evaluated_once_more_and_not_twice(browser: Client) -> None:
    suite_version(document(problems=4))
    address = "/suites/bandits/evaluate/"
    fields = {"policy": "directory", "directory": "tiny", "again": "1", **token_of(browser, address)}
    first, second = (browser.post(address, fields) for _ in range(2))
    assert first["Location"] == second["Location"] == f"/evaluations/{SuiteEvaluation.objects.get().pk}/"


def test_a_run_is_run_again_once(browser: Client) -> None:
    run = build_run()
    fields = token_of(browser, f"/runs/{run.pk}/")
    first, second = (browser.post(f"/runs/{run.pk}/again/", fields) for _ in range(2))
    made = Run.objects.exclude(pk=run.pk).get()
    assert first["Location"] == second["Location"] == f"/runs/{made.pk}/"


def test_a_preflight_is_started_once_and_the_second_submission_is_not_refused(
    browser: Client, lake: EnvironmentVersion
) -> None:
    address = f"/environments/{lake.definition_id}/preflight/"
    fields = {"player": "random", "problems": "2", "rollouts": "2", "first_seed": "0", **token_of(browser, address)}
    first, second = (browser.post(address, fields) for _ in range(2))
    assert first["Location"] == second["Location"] == f"{address}?id={Preflight.objects.get().pk}"


def test_a_report_is_created_once(browser: Client) -> None:
    fields = {"title": "Lakes", "text": "Some text.", **token_of(browser, "/reports/new/")}
    first, second = (browser.post("/reports/new/", fields) for _ in range(2))
    assert first["Location"] == second["Location"] == f"/reports/{Report.objects.get().pk}/"


def test_other_values_with_the_same_token_are_launched_too(browser: Client) -> None:
    """As after going back to the form in the browser and changing a value."""
    token = token_of(browser, "/sweeps/new/")
    for values in ("0, 0.1", "0, 0.2"):
        browser.post("/sweeps/new/", form(KL_ROW | {"values": values}, **token))
    assert Sweep.objects.count() == 2


def test_a_refused_form_can_be_submitted_again(browser: Client, lake: EnvironmentVersion) -> None:
    fields = filled_in(lake, steps="0") | token_of(browser, "/runs/new/")
    for _ in range(2):
        assert browser.post("/runs/new/", fields).status_code == 422
    assert not IdempotentRequest.objects.exists()


def test_the_token_of_another_user_leads_to_nothing_of_theirs(browser: Client) -> None:
    fields = form(KL_ROW, **token_of(browser, "/sweeps/new/"))
    browser.post("/sweeps/new/", fields)
    other = Client()
    other.force_login(User.objects.create_user("eve", is_superuser=True))
    assert other.post("/sweeps/new/", fields)["Location"] == f"/sweeps/{Sweep.objects.latest('pk').pk}/"
    assert Sweep.objects.count() == 2
