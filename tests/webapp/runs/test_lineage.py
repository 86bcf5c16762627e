"""Lineage: forks count the steps of their ancestors, and runs launched in a row have different colours."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.runs import add_evaluation, build_run
from webapp.runs.lineage import ancestors_of, is_same_lineage, join_lineage
from webapp.runs.models import COLOURS, Run

pytestmark = pytest.mark.django_db


def fork_of(parent: Run, step: int, *, name: str = "fork") -> Run:
    run = build_run(name=name)
    run.config["model"]["start_from"] = {"run": parent.pk, "step": step, "optimizer": True}
    join_lineage(run)
    run.step = 8
    run.save()
    return run


def test_a_fork_of_a_fork_counts_the_steps_of_both_ancestors() -> None:
    first = build_run(name="first")
    second = fork_of(first, 30, name="second")
    third = fork_of(second, 80, name="third")
    assert (third.forked_from, third.fork_step, third.ancestor_steps) == (second, 80, 110)
    assert (second.lineage_step, third.lineage_step) == (38, 118)
    assert [(one.name, one.upto, one.before) for one in ancestors_of(third)] == [("first", 30, 0), ("second", 80, 30)]


def test_a_fork_keeps_its_steps_when_its_parent_is_deleted() -> None:
    first = build_run()
    fork = fork_of(fork_of(first, 30), 80)
    first.delete()
    fork.refresh_from_db()
    assert (fork.ancestor_steps, len(ancestors_of(fork))) == (110, 1)


def test_a_parent_that_is_unknown_counts_with_the_steps_up_to_the_fork() -> None:
    run = build_run()
    run.config["model"]["start_from"] = {"run": "elsewhere", "step": 40}
    join_lineage(run)
    assert (run.forked_from, run.ancestor_steps) == (None, 40)


def test_runs_of_one_lineage_have_a_common_ancestor() -> None:
    first, other = build_run(), build_run()
    fork, sibling = fork_of(first, 10), fork_of(first, 20)
    assert is_same_lineage(first, first)
    assert is_same_lineage(fork, first)
    assert is_same_lineage(fork, sibling)
    assert not is_same_lineage(fork, other)


def test_runs_launched_in_a_row_have_different_colours() -> None:
    colours = []
    for _ in range(COLOURS + 1):
        run = Run(name="a run", config={})
        join_lineage(run)
        run.save()
        colours.append(run.colour)
    assert sorted(colours[:COLOURS]) == list(range(1, COLOURS + 1))
    assert colours[-1] == colours[0]


@pytest.fixture
def browser(client: Client) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


def test_list_leaderboard_and_page_show_the_parent_and_all_steps(browser: Client) -> None:
    parent = build_run(name="calm-otter")
    fork = fork_of(parent, 80)
    add_evaluation(fork, successes=166, step=8)
    for address in ("/runs/", "/leaderboard/", f"/runs/{fork.pk}/", f"/compare/?runs={fork.pk}"):
        page = " ".join(browser.get(address).content.decode().split())
        assert f'forked from <a href="/runs/{parent.pk}/">calm-otter</a> at step 80' in page, address
        assert ">88<" in page, address
        assert f'class="run-swatch" data-colour="{fork.colour}"' in page, address
    config = browser.get(f"/runs/{parent.pk}/").content.decode()
    assert f'<a href="/runs/{fork.pk}/">fork</a> at step 80' in config


def test_the_api_has_the_lineage(browser: Client) -> None:
    parent = build_run(name="calm-otter")
    fork = fork_of(parent, 80)
    found = browser.get(f"/api/v1/runs/{fork.pk}/").json()
    assert [found[key] for key in ("forked_from", "fork_step", "ancestor_steps", "lineage_step")] == [
        parent.pk, 80, 80, 88,
    ]  # fmt: skip
    assert found["ancestors"] == [{"id": parent.pk, "name": "calm-otter", "upto": 80, "before": 0}]
