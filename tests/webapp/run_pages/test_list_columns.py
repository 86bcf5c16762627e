"""The columns of the list of runs: sorting by any of them, and which of them the URL chooses."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from tests.webapp.run_pages.listed import LIST, cells_of, names_on
from tests.webapp.runs.rows import a_run
from webapp.run_pages.arrangement import PAGE
from webapp.run_pages.columns import FIXED
from webapp.runs.metric_ranges import extended, save_ranges
from webapp.runs.models import Run

pytestmark = pytest.mark.django_db


def with_metrics(name: str, *steps: dict[str, float]) -> Run:
    run = a_run(name)
    save_ranges(run, extended({}, steps))
    return run


def test_runs_without_a_value_come_last_in_both_directions(browser: Client) -> None:
    with_metrics("low", {"rollout/success": 0.1})
    a_run("none")
    with_metrics("high", {"rollout/success": 0.9})
    assert names_on(browser, "?sort=-success") == ["high", "low", "none"]
    assert names_on(browser, "?sort=success") == ["low", "high", "none"]


def test_equal_runs_are_in_the_order_of_their_launch_on_exactly_one_page_each(browser: Client) -> None:
    for number in range(PAGE + 3):
        a_run(f"run {number}")
        Run.objects.filter(name=f"run {number}").update(created_at=timezone.now() + timedelta(seconds=number))
    expected = [f"run {number}" for number in reversed(range(PAGE + 3))]
    assert names_on(browser, "?sort=preset") + names_on(browser, "?sort=preset&page=2") == expected
    assert names_on(browser, "?sort=preset&page=99") == expected[PAGE:]  # past the end is the last page


@pytest.mark.parametrize("key", [*FIXED, "last:policy/entropy", 'highest:it\'s "odd"; --'])
def test_every_column_sorts_and_has_a_heading_that_turns_the_order_around(browser: Client, key: str) -> None:
    a_run("only")
    answer = browser.get(LIST, {"sort": key, "columns": f"name,{key}"})
    assert [row.run.name for row, _ in answer.context["rows"]] == ["only"]
    [head] = [head for head in answer.context["heads"] if head.column.key == key]
    assert head.order == "ascending"
    assert head.url.startswith("?") and "sort=-" in head.url


def test_best_is_the_lowest_of_a_metric_that_should_be_low(browser: Client) -> None:
    # entries of the glossary: more success is better, fewer seconds are
    steps = [{"rollout/success": 0.2, "time/step": 9.0}, {"rollout/success": 0.7, "time/step": 4.0}]
    with_metrics("swift", *steps, {"rollout/success": 0.5, "time/step": 6.5})
    keys = "last:rollout/success,best:rollout/success,best:time/step,highest:time/step"
    assert cells_of(browser, f"?columns=name,{keys}")[1:] == ["0.5", "0.7", "4", "9"]


def test_a_link_shows_the_same_columns_to_others_and_the_user_s_choice_is_remembered(browser: Client) -> None:
    a_run("calm")
    assert cells_of(browser, "?columns=name,seed") == ["calm", "1"]
    again = browser.get(LIST)
    assert again["Location"] == f"{LIST}?columns=name%2Cseed"
    browser.get(LIST + "?columns=default")
    assert browser.get(LIST).status_code == 200


def test_the_form_of_columns_becomes_one_parameter(browser: Client) -> None:
    a_run()
    query = "?columns=name&columns=seed&kind=best&metric=policy/entropy&sort=name"
    assert browser.get(LIST + query)["Location"] == f"{LIST}?sort=name&columns=name%2Cseed%2Cbest%3Apolicy%2Fentropy"


def test_unknown_columns_and_orders_are_ignored(browser: Client) -> None:
    a_run("calm")
    answer = browser.get(LIST + "?columns=nonsense,seed&sort=nonsense")
    assert [head.column.key for head in answer.context["heads"]] == ["name", "seed"]
