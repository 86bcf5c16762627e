"""What an outcome goes with, over the settings that differ."""

from __future__ import annotations

import random

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.runs import add_evaluation, build_run
from webapp.runs.models import MetricName, Run

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(client: Client) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


def run_of(rate: float, seed: int, outcome: float | None, kl: float = 0.0) -> Run:
    run = build_run(config={"seed": seed, "optimizer": {"learning_rate": rate}, "loss": {"kl_coefficient": kl}})
    if outcome is not None:
        MetricName.objects.create(run=run, name="rollout/success", last=outcome, lowest=0.0, highest=1.0)
    return run


def address(runs: list[Run], more: str = "") -> str:
    return f"/compare/effects.json?runs={','.join(run.pk for run in runs)}{more}"


def test_the_setting_that_the_outcome_follows_comes_first(browser: Client) -> None:
    rates = (1e-4, 2e-4, 4e-4, 8e-4, 16e-4)
    kls = (0.0, 0.1, 0.0, 0.1, 0.0)
    runs = [
        run_of(rate, seed, 0.1 * index + 0.01 * seed, kl)
        for index, (rate, kl) in enumerate(zip(rates, kls, strict=True))
        for seed in (1, 2)
    ]
    found = browser.get(address(runs)).json()
    assert [one["key"] for one in found["effects"]] == ["optimizer.learning_rate", "loss.kl_coefficient"]
    first = found["effects"][0]
    assert first["correlation"]["rho"] > 0.9 and first["correlation"]["low"] > 0.5
    assert first["share"]["share"] > 0.9 and first["share"]["by_chance"] == pytest.approx(4 / 9)
    numbers = {field["key"]: field["numbers"] for field in found["fields"]}
    assert numbers["optimizer.learning_rate"][:3] == [1e-4, 1e-4, 2e-4]
    assert [run["seed"] for run in found["runs"][:2]] == [1, 2]


def test_runs_without_the_outcome_are_left_out_and_counted(browser: Client) -> None:
    runs = [run_of(rate, 1, value) for rate, value in ((1e-4, 0.1), (2e-4, 0.2), (3e-4, 0.3), (4e-4, None))]
    found = browser.get(address(runs)).json()
    assert (len(found["runs"]), found["left_out"]) == (3, 1)


def test_held_out_success_is_the_outcome_where_there_is_any(browser: Client) -> None:
    runs = [run_of(rate, 1, 0.5) for rate in (1e-4, 2e-4, 3e-4)]
    for run, successes in zip(runs, (64, 128, 192), strict=True):
        add_evaluation(run, successes=successes)
    found = browser.get(address(runs)).json()
    assert found["outcome"] == "eval/FrozenLake/success"
    assert [run["y"] for run in found["runs"]] == [0.25, 0.5, 0.75]


def test_too_few_runs_or_no_difference_are_a_sentence(browser: Client) -> None:
    assert "needs 3 runs" in browser.get(address([run_of(1e-4, 1, 0.5)])).json()["problem"]
    assert "No run has" in browser.get(address([run_of(1e-4, 1, 0.5)], "&outcome=no/such")).json()["problem"]
    alike = [run_of(rate, 1, 0.5) for rate in (1e-4, 2e-4, 3e-4)]
    assert browser.get(address(alike)).json()["problem"] == "All 3 runs have the same “Training success”: 0.5."
    seeds = [run_of(1e-4, seed, 0.1 * seed) for seed in (1, 2, 3)]
    assert "differ in their seeds only" in browser.get(address(seeds)).json()["problem"]
    assert "No run has" in browser.get("/compare/effects.json?sweep=77").json()["problem"]


def test_every_setting_that_differs_is_ranked_and_not_only_the_first_ones(browser: Client) -> None:
    """Twelve settings that the outcome does not follow come before the learning rate in a configuration."""
    stream = random.Random(1)
    low = {
        "rollout": {"temperature": 1.0, "groups": 8, "group_size": 4, "max_context_tokens": 900, "rows_at_once": 8,
                    "max_trajectory_tokens": 500, "environment_workers": 0, "overlong_penalty": -1.0},
        "loss": {"entropy_target": 0.0, "dual_clip": 2.0, "entropy_coefficient": 0.0,
                 "kl_coefficient": 0.0},
    }  # fmt: skip
    runs = []
    for index in range(16):
        rate = (1e-4, 2e-4, 4e-4, 8e-4)[index % 4]
        config = {
            part: {name: value + stream.choice((0, 1)) for name, value in fields.items()}
            for part, fields in low.items()
        }
        run = build_run(config={**config, "optimizer": {"learning_rate": rate}})
        MetricName.objects.create(run=run, name="rollout/success", last=500 * rate + 0.001 * index)
        runs.append(run)
    found = browser.get(address(runs)).json()
    assert len(found["effects"]) == 13
    assert found["effects"][0]["key"] == "optimizer.learning_rate"
    assert [one["key"] for one in found["fields"]] == [one["key"] for one in found["effects"]]


def test_settings_that_always_change_together_are_one(browser: Client) -> None:
    """With a filter there are its own settings, which runs without one have not."""
    filters = [{"type": "none"}, {"type": "top_p", "value": 0.5}, {"type": "none"}, {"type": "top_p", "value": 0.5}]
    runs = []
    for index, chosen in enumerate(filters):
        run = build_run(config={"seed": index, "filter": chosen})
        MetricName.objects.create(run=run, name="rollout/success", last=0.1 * index)
        runs.append(run)
    found = browser.get(address(runs)).json()
    assert [one["key"] for one in found["effects"]] == ["filter.type"]
    assert {"filter.value", "filter.mode"} < set(found["fields"][0]["also"])


def test_a_number_that_some_runs_do_not_set_stays_a_number(browser: Client) -> None:
    filters = [{"type": "none"}, *({"type": "top_p", "value": value} for value in (0.5, 0.8, 0.9))]
    runs = []
    for index, chosen in enumerate(filters):
        run = build_run(config={"seed": index, "filter": chosen})
        MetricName.objects.create(run=run, name="rollout/success", last=0.1 * index)
        runs.append(run)
    fields = {one["key"]: one for one in browser.get(address(runs)).json()["fields"]}
    assert fields["filter.value"]["numbers"] == [None, 0.5, 0.8, 0.9]
    assert fields["filter.type"]["numbers"] is None


def test_a_setting_of_which_every_run_has_its_own_value_is_ranked_by_its_correlation(browser: Client) -> None:
    """ρ² = 1 beyond 1 / (6 - 1) by chance, against η² of a coefficient that alternates: outcomes 0 to 5 with means 2
    and 3 of its levels have η² = 6 · 0.25 / 17.5 = 0.086, less than by chance (1 / 5)."""
    runs = [
        run_of(rate, 1, index, kl=0.1 * (index % 2)) for index, rate in enumerate((1e-4, 2e-4, 3e-4, 4e-4, 5e-4, 6e-4))
    ]
    found = browser.get(address(runs)).json()
    assert [one["key"] for one in found["effects"]] == ["optimizer.learning_rate", "loss.kl_coefficient"]
    assert found["effects"][0]["share"] is None and found["effects"][0]["correlation"]["rho"] == pytest.approx(1)
