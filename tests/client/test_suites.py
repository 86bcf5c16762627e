"""Evaluations on suites from Python and from a shell, against a served site."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from starboard_client import Starboard
from starboard_client.cli import main
from starboard_client.errors import StarboardError
from tests.builders.suites import outcomes_of, suite_evaluation, suite_version
from webapp.jobs import JobState
from webapp.suites.models import SuiteEvaluation
from webapp.suites.results import save_outcomes


def finish(pk: int) -> None:
    """As a worker would have played it: 3 of 4 problems solved."""
    evaluation = SuiteEvaluation.objects.get(pk=pk)
    save_outcomes(evaluation, outcomes_of(evaluation.suite(), {"Bandit": ["1", "1", "0", "1"]}))
    SuiteEvaluation.objects.filter(pk=pk).update(state=JobState.FINISHED)


def test_a_model_is_evaluated_watched_and_listed(starboard: Starboard) -> None:
    suite_version()
    assert [(suite.name, suite.episodes) for suite in starboard.suites()] == [("bandits", 4)]
    one = starboard.evaluate("bandits", directory="tiny", key="k-1")
    assert starboard.evaluate("bandits", directory="tiny", key="k-1").id == one.id
    with pytest.raises(StarboardError, match="is being evaluated on exactly these problems"):
        starboard.evaluate("bandits", directory="tiny")
    assert starboard.control_evaluation(one.id, "stop").state == "stopped"
    assert starboard.control_evaluation(one.id, "resume").state == "queued"
    finish(one.id)
    [ended] = starboard.watch_evaluation(one.id, every=0.01)
    assert (ended.ended, ended.success, ended.items[0].successes) == (True, 0.75, 3)
    older = suite_evaluation({"Bandit": ["1", "1", "1", "1"]}, write_file=True)
    assert [one.id for one in starboard.evaluations(suite="bandits")] == [older.pk, ended.id]
    assert len(list(starboard.evaluations(limit=1))) == 1
    assert b"".join(starboard.outcomes(older.pk))[:4] == b"PAR1"


def test_the_command_line_evaluates_and_shows(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite_version()
    assert main(["evaluations", "suites"]) == 0
    assert capsys.readouterr().out == "bandits\t1\t4\tbandits\n"
    assert main(["evaluations", "create", "bandits", "--directory", "tiny"]) == 0
    number = capsys.readouterr().out.strip()
    finish(int(number))
    assert main(["evaluations", "watch", number, "--every", "0.01"]) == 0
    watched = capsys.readouterr()
    assert watched.out.startswith("Bandit\t0.75 [") and "finished: 4 of 4 episodes, 0.75" in watched.err
    assert main(["evaluations", "show", number, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"][0]["scored"] == 4
    assert main(["evaluations", "list", "--suite", "bandits"]) == 0
    assert capsys.readouterr().out.startswith(f"{number}\tbandits v1\ttiny\tfinished\t0.75 [")
    assert main(["evaluations", "stop", number]) == 1
    assert main(["evaluations", "create", "none", "--directory", "tiny"]) == 1
