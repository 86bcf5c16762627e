"""Curves of groups, from the recorded steps of their runs."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.runs import add_evaluation, build_run
from webapp.comparisons.group_curves import group_curves
from webapp.runs.models import Run, StepMetrics

pytestmark = pytest.mark.django_db


def run_with(values: dict[int, float], name: str = "a/b") -> Run:
    run = build_run()
    StepMetrics.objects.bulk_create(
        StepMetrics(
            run=run, seq=step, step=step, time=10.0 * step, tokens=100 * step, seconds=2.0 * step, metrics={name: value}
        )
        for step, value in values.items()
    )
    return run


def test_the_mean_over_three_runs_with_their_standard_deviation() -> None:
    runs = [run_with({1: value, 2: 2 * value}) for value in (1.0, 2.0, 3.0)]
    (found,) = group_curves([runs], ["a/b"], "std")
    curve = found["a/b"]
    assert (curve["steps"], curve["mean"], curve["count"]) == ([1, 2], [2.0, 4.0], [3, 3])
    assert (curve["low"], curve["high"]) == ([1.0, 2.0], [3.0, 6.0])
    assert (curve["tokens"], curve["seconds"]) == ([100.0, 200.0], [2.0, 4.0])


def test_beyond_the_end_of_a_run_the_count_falls_and_positions_are_unknown() -> None:
    runs = [run_with({1: 1.0, 2: 1.0, 3: 5.0}), run_with({1: 3.0, 2: 3.0})]
    curve = group_curves([runs], ["a/b"], "minmax")[0]["a/b"]
    assert (curve["mean"], curve["count"]) == ([2.0, 2.0, 5.0], [2, 2, 1])
    assert (curve["low"], curve["high"]) == ([1.0, 1.0, None], [3.0, 3.0, None])
    assert curve["tokens"] == [100.0, 200.0, None]


def test_a_run_that_reports_less_often_is_interpolated_between_its_steps() -> None:
    runs = [run_with({1: 0.0, 3: 4.0}), run_with({1: 0.0, 2: 1.0, 3: 2.0})]
    curve = group_curves([runs], ["a/b"], "se")[0]["a/b"]
    assert (curve["steps"], curve["mean"]) == ([1, 2, 3], [0.0, 1.5, 3.0])  # (2 + 1) / 2 at step 2


def test_held_out_success_is_that_of_the_evaluations() -> None:
    one, two = run_with({1: 0.0}), run_with({1: 0.0})
    for run, successes in ((one, 64), (two, 128)):
        add_evaluation(run, successes=0, step=10, final=False)
        add_evaluation(run, successes=successes, step=20)
    curve = group_curves([[one, two]], ["eval/FrozenLake/success"], "minmax")[0]["eval/FrozenLake/success"]
    assert (curve["steps"], curve["mean"]) == ([10, 20], [0.0, 0.375])
    assert curve["high"] == [0.0, 0.5]


def test_a_metric_that_nobody_has_is_an_empty_curve() -> None:
    curve = group_curves([[run_with({1: 1.0})]], ["no/such"], "ci")[0]["no/such"]
    assert (curve["steps"], curve["mean"], curve["count"]) == ([], [], [])


def test_a_long_curve_is_thinned_to_means_of_neighbouring_steps() -> None:
    run = run_with({step: float(step) for step in range(1, 11)})
    curve = group_curves([[run]], ["a/b"], "std", points=5)[0]["a/b"]
    assert (curve["steps"], curve["mean"]) == ([2, 4, 6, 8, 10], [1.5, 3.5, 5.5, 7.5, 9.5])


def test_the_api_sends_the_groups_in_their_order(client: Client) -> None:
    client.force_login(User.objects.create_user("ada"))
    one, two, three = run_with({1: 1.0}), run_with({1: 3.0}), run_with({1: 7.0})
    answer = client.get(f"/api/v1/group-curves?groups={three.pk};{one.pk},{two.pk}&metrics=a/b&band=minmax")
    assert [group["a/b"]["mean"] for group in answer.json()["groups"]] == [[7.0], [2.0]]


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("groups=gone&metrics=a", 404, "There is no run 'gone'"),
        ("groups=a&metrics=a&band=wide", 400, "band"),
        ("metrics=a", 400, "groups"),
        (f"groups={','.join(f'r{i}' for i in range(51))}&metrics=a", 400, "51 runs"),
    ],
)
def test_bad_queries_say_what_is_wrong(client: Client, text: str, status: int, words: str) -> None:
    client.force_login(User.objects.create_user("ada"))
    answer = client.get(f"/api/v1/group-curves?{text}")
    assert answer.status_code == status
    assert words in answer.content.decode()
