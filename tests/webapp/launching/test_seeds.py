"""Several runs from one form: what can be written, and what comes of it."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.webapp.launching.test_new_run import NEW, filled_in
from webapp.environments.models import EnvironmentVersion
from webapp.launching.seeds import seeds_of
from webapp.runs.models import Run


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("7", [7]),
        ("1-3", [1, 2, 3]),
        (" 1 , 5,9 ", [1, 5, 9]),
        ("1-3, 2, 8", [1, 2, 3, 8]),
        ("1\N{EN DASH}2", [1, 2]),
        ("999999", [999_999]),
    ],
)
def test_seeds_are_numbers_and_ranges(text: str, seeds: list[int]) -> None:
    assert seeds_of(text) == seeds


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "missing"),
        ("one", "'one' is not a seed"),
        ("-3", "'-3' is not a seed"),
        ("3-1", "runs backwards. Write 1-3"),
        ("1000000", "up to 999999"),
        ("\N{SUPERSCRIPT TWO}", "is not a seed"),
        ("1-21", "21 seeds would be as many runs. Use 20 or fewer"),
        ("1-20, 30", "21 seeds"),
        ("0-" + 50 * "9", "is not a seed"),
    ],
)
def test_what_is_no_seed_is_refused_with_what_is(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        seeds_of(text)


def test_each_seed_is_a_run_and_the_list_shows_them(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(NEW, {**filled_in(lake), "seed": "3-4, 8", "name": "lake"})
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/runs/?q=lake"
    runs = [(run.name, run.config["seed"]) for run in Run.objects.order_by("name")]
    assert runs == [("lake seed 3", 3), ("lake seed 4", 4), ("lake seed 8", 8)]


def test_runs_of_several_seeds_without_a_name_share_a_generated_one(browser: Client, lake: EnvironmentVersion) -> None:
    browser.post(NEW, {**filled_in(lake), "seed": "1-2", "name": ""})
    first, second = Run.objects.order_by("name").values_list("name", flat=True)
    assert first.removesuffix(" seed 1") == second.removesuffix(" seed 2") != ""


def test_a_seed_that_is_none_is_refused_at_its_field_and_nothing_is_launched(
    browser: Client, lake: EnvironmentVersion
) -> None:
    answer = browser.post(NEW, {**filled_in(lake), "seed": "some"})
    assert answer.status_code == 422
    assert "is not a seed" in answer.context["errors"]["seed"]
    assert 'value="some"' in answer.content.decode()
    assert not Run.objects.exists()
