"""The client's and the command line's list of trajectories, against a served site."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from starboard_client import Invalid, Starboard
from starboard_client.cli import main
from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from webapp.runs.models import Run
from webapp.trajectories.models import TrajectoryText


@pytest.fixture
def run(shell: Path) -> Run:
    """Two steps of 4 groups x 4 members."""
    run = build_run()
    record_steps(run, run.parsed_config().environments[0], steps=range(1, 3))
    return run


def test_pages_of_a_sorted_and_filtered_list_are_joined(
    starboard: Starboard, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("starboard_client.trajectories.AT_ONCE", {False: 5, True: 3})
    tokens = [one.response_tokens for one in starboard.trajectories(run.pk, sort="-tokens")]
    assert tokens == sorted(run.trajectories.values_list("response_tokens", flat=True), reverse=True)
    later = list(starboard.trajectories(run.pk, group=None, step_low=2, limit=4, messages=True))
    assert [one.step for one in later] == [2] * 4
    assert all(one.messages for one in later)
    lost = [one.id for one in starboard.trajectories(run.pk, success=False)]
    assert lost == list(run.trajectories.filter(success=False).order_by("-pk").values_list("pk", flat=True))
    found = [one.id for one in starboard.trajectories(run.pk, q="hole", sort="recorded")]
    rows = TrajectoryText.objects.filter(thoughts__iregex=r"\bhole\b").order_by("pk")
    assert found == list(rows.values_list("pk", flat=True))
    assert len(found) > 5  # more than a page
    [previewed] = starboard.trajectories(run.pk, limit=1, preview=True)
    assert previewed.preview
    assert previewed.messages is None


def test_a_filter_that_the_site_refuses_is_an_error(starboard: Starboard, run: Run) -> None:
    with pytest.raises(Invalid, match="is no order"):
        next(starboard.trajectories(run.pk, sort="size"))


def test_a_shell_lists_trajectories(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["runs", "trajectories", run.pk, "--sort=-tokens", "--search=hole", "--filter=step=2", "--limit=3"]
    assert main(command) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[1] for line in lines] == ["2"] * 3
    tokens = [int(line[8]) for line in lines]
    assert tokens == sorted(tokens, reverse=True)
    assert main([*command, "--json"]) == 0
    assert [one["response_tokens"] for one in json.loads(capsys.readouterr().out)] == tokens


def test_a_shell_says_which_filters_there_are(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "trajectories", run.pk, "--filter=low=1"]) == 1
    assert "'low' is no filter with a value. Give NAME=VALUE with advantage_high, " in capsys.readouterr().err
