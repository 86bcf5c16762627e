"""The Compare page."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.runs import add_evaluation, build_run
from webapp.environments.differences import differences
from webapp.evaluations.compare import (
    FIRST_METRICS,
    dashes,
    metric_names,
    read_view,
    seed_groups,
    short_differences,
)
from webapp.runs.models import MetricName, Run


@pytest.fixture
def browser(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


def pair(**other: object) -> list[Run]:
    return [build_run(name="one"), build_run(name="two", config=dict(other))]


@pytest.mark.django_db
def test_the_url_determines_the_view() -> None:
    one, two = pair()
    view = read_view({"runs": f"{two.pk},{one.pk},gone,{one.pk}", "metrics": "a,b,a"})
    assert (view.runs, view.missing, view.metrics) == ([two, one], ["gone"], ["a", "b"])


@pytest.mark.django_db
def test_an_empty_query_gives_the_default_view() -> None:
    run = build_run()
    view = read_view({"runs": f",{run.pk},", "metrics": ","})
    assert (view.runs, view.metrics) == ([run], FIRST_METRICS)


@pytest.mark.django_db
def test_held_out_success_is_among_the_first_charts_once_there_is_any() -> None:
    run = build_run()
    add_evaluation(run, successes=82)
    metrics = read_view({"runs": run.pk}).metrics
    assert metrics[:2] == ["rollout/success", "eval/FrozenLake/success"]
    assert "eval/FrozenLake/success" in metric_names([run])


@pytest.mark.django_db
def test_runs_of_one_colour_differ_in_the_pattern_of_their_lines() -> None:
    runs = [Run(colour=colour) for colour in (3, 1, 3, 3, 1)]
    assert dashes(runs) == [0, 0, 1, 2, 1]
    assert dashes([Run(colour=1)] * 7) == [0, 1, 2, 3, 4, 5, 0]


@pytest.mark.django_db
def test_runs_that_differ_only_in_seed_form_a_group_with_each_seed_counted_once() -> None:
    one, other, two, again = (build_run(config=values) for values in (
        {"seed": 1}, {"seed": 1, "optimizer": {"learning_rate": 1e-3}}, {"seed": 2, "description": "again"}, {"seed": 1}
    ))  # fmt: skip
    assert seed_groups([other, one, two, again]) == [None, 1, 1, None]


@pytest.mark.django_db
def test_a_run_whose_settings_were_changed_is_not_grouped() -> None:
    runs = [build_run(config={"seed": seed}) for seed in (1, 2, 3)]
    runs[1].settings_revision = 1
    assert seed_groups(runs) == [0, None, 0]


@pytest.mark.django_db
def test_metrics_that_only_some_steps_report_are_offered() -> None:
    run = build_run()
    MetricName.objects.create(run=run, name="collapse/mi_ratio")
    assert "collapse/mi_ratio" in metric_names([run])


@pytest.mark.django_db
def test_differing_settings_are_one_label_per_run() -> None:
    one, two = pair(optimizer={"learning_rate": 1e-3}, preset="Mine")
    found = differences([one.config, two.config])
    assert short_differences(found, 2) == ["learning_rate 0.0002", "learning_rate 0.001"]


def test_the_page_shows_differences_first_and_folds_equal_settings(browser: Client) -> None:
    one, two = pair(optimizer={"learning_rate": 1e-3})
    page = browser.get(f"/compare/?runs={one.pk},{two.pk}")
    assert [(row.key, row.values) for row in page.context["differences"].differing] == [
        ("optimizer.learning_rate", ["0.0002", "0.001"])
    ]


def test_without_runs_the_page_offers_a_choice(browser: Client) -> None:
    build_run(name="calm-otter")
    assert "calm-otter" in browser.get("/compare/").content.decode()


def test_an_installation_without_runs_links_to_the_form_of_a_new_run(browser: Client) -> None:
    assert "Nothing to compare yet" in browser.get("/compare/").content.decode()


def test_missing_runs_are_named(browser: Client) -> None:
    assert "Run gone does not exist" in browser.get("/compare/?runs=gone").content.decode()


@pytest.mark.django_db
def test_environment_errors_are_shown_only_if_there_are_any(browser: Client) -> None:
    one, two = pair()
    add_evaluation(one, successes=60)
    add_evaluation(two, successes=60, faults=1)
    page = browser.get(f"/compare/?runs={one.pk},{two.pk}").content.decode()
    assert page.count("fault-note") == 1 and "1 error<" in page
