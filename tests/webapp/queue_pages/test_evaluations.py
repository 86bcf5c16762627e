"""Evaluations in the queue: what each waits for, and when it starts and ends."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from pytest_django import Settings

from tests.builders.suites import suite_evaluation, suite_version
from webapp.jobs import JobState
from webapp.suites.models import PolicyKind, SuiteEvaluation, SuiteVersion

pytestmark = pytest.mark.django_db


def live(
    version: SuiteVersion, state: JobState, policy: PolicyKind = PolicyKind.DIRECTORY, **fields: object
) -> SuiteEvaluation:
    number = SuiteEvaluation.objects.count()
    made = {"key": version.key, "conditions": [], "weights": f"{number:064d}", "model": f"/models/model-{number}"}
    return SuiteEvaluation.objects.create(version=version, state=state, policy=policy, **{**made, **fields})


def rows_of(browser: Client) -> list[str]:
    page = browser.get("/queue/rows/").content.decode()
    part = page[page.index('data-part="evaluations"') :]
    rows = re.findall(r"<tr>(.*?)</tr>", part[: part.index("</section>")], re.DOTALL)[1:]
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", row)) for row in rows]


def test_evaluations_say_what_they_wait_for_and_when_they_start(browser: Client, settings: Settings) -> None:
    settings.STARBOARD_MAX_PARALLEL_EVALUATIONS, settings.STARBOARD_MAX_PARALLEL_ENDPOINTS = 1, 2
    version = suite_version()
    earlier = suite_evaluation({"Bandit": ["1", "0", "1", "1"]}, version=version)
    SuiteEvaluation.objects.filter(pk=earlier.pk).update(played=4, seconds=600.0)  # 150 s an episode
    running = live(version, JobState.RUNNING, planned=8, played=2, seconds=200.0)  # 6 x 100 s are left: 10 min
    live(version, JobState.QUEUED, planned=2)  # 2 x 150 s: 5 min
    live(version, JobState.QUEUED, planned=2)
    endpoint = live(version, JobState.QUEUED, PolicyKind.ENDPOINT, planned=2, model="remote")
    first, second, third, fourth = rows_of(browser)
    assert "2/8" in first and "about 10 min" in first and "Waits" not in first
    assert "Waits for a running one to end: one evaluation of a local model at a time." in second
    assert "in about 10 min" in second and "about 5 min" in second
    assert "after 1 that comes first" in third and "in about 15 min" in third
    assert "remote" in fourth and "Waits for a worker." in fourth and "now" in fourth and "unknown" in fourth
    page = browser.get("/queue/").content.decode()
    for one in (running, endpoint):
        assert f'href="/evaluations/{one.pk}/"' in page
    assert f'href="/evaluations/{running.pk}/"' in browser.get(f"/evaluations/{third_of()}/").content.decode()


def third_of() -> int:
    """The second of the queued local ones."""
    queued = SuiteEvaluation.objects.filter(state=JobState.QUEUED, policy=PolicyKind.DIRECTORY)
    return queued.order_by("pk")[1].pk


def test_without_evaluations_the_page_has_no_table_of_them(browser: Client) -> None:
    suite_evaluation({"Bandit": ["1", "0", "1", "1"]})
    assert 'data-part="evaluations"' not in browser.get("/queue/rows/").content.decode()
