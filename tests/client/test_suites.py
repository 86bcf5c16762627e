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
    assert main(["suites", "list"]) == 0
    assert capsys.readouterr().out == "bandits\t1\t4\tbandits\n"
    assert main(["suites", "evaluate", "bandits", "--directory", "tiny"]) == 0
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
    assert main(["suites", "evaluate", "none", "--directory", "tiny"]) == 1


def test_suites_are_defined_shown_and_revised_in_a_shell(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = shell / "arms.toml"
    file.write_text('name = "arms"\n[[items]]\nname = "Arms"\nenvironment = { kind = "bandit" }\ncount = 4\n')
    assert main(["suites", "create", str(file)]) == 0
    assert capsys.readouterr().out == "arms\n"
    assert main(["suites", "show", "arms"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("arms (arms v1), not evaluated yet\nArms\tbandit\t4\t1\n")
    assert main(["suites", "show", "arms", "--toml"]) == 0
    assert capsys.readouterr().out == file.read_text()
    assert main(["suites", "create", str(file), "--revises", "arms"]) == 1
    assert "The definition is the same as that of the newest version" in capsys.readouterr().err
    assert main(["suites", "evaluate", "arms", "--directory", "tiny", "--json"]) == 0  # freezes it
    file.write_text(file.read_text() + "temperature = 1.0\n")
    assert main(["suites", "create", str(file), "--revises", "arms"]) == 0
    assert "arms v2, 4 episodes" in capsys.readouterr().err
    file.write_text(file.read_text().replace("count = 4", "seeds = [0, 1, 2, 3]").replace("bandit", "frozen_lake"))
    assert main(["suites", "create", str(file), "--revises", "arms"]) == 1
    assert "has training problems: in 'Arms' those of seeds" in capsys.readouterr().err
    assert main(["suites", "show", "none"]) == 1
    assert capsys.readouterr().err == "There is no suite 'none'. There are: arms.\n"


def test_the_leaderboard_and_outcomes_come_to_a_shell(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard"]) == 0
    assert "No evaluation is ranked yet" in capsys.readouterr().err
    better = suite_evaluation({"Bandit": ["1", "1", "0", "1"]}, write_file=True)
    suite_evaluation({"Bandit": ["0", "1", "0", "0"]}, write_file=True)
    assert main(["leaderboard", "bandits"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    # four problems cannot tell the two from one another, so either may be first
    assert first.split("\t")[:4] == ["1 (1-2)", "a", "tiny", str(better.pk)] or first.startswith("1")
    assert "0.75 [" in first and "0.25 [" in second
    assert main(["evaluations", "export", str(better.pk), "-o", str(shell / "out.parquet")]) == 0
    assert (shell / "out.parquet").read_bytes()[:4] == b"PAR1"
    assert main(["leaderboard", "none"]) == 1
    assert "has no entries" in capsys.readouterr().err


def test_every_noun_has_the_same_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    verbs = {
        "runs": ["list", "show", "launch", "watch", "stop", "resume", "logs", "export", "compare"],
        "sweeps": ["list", "show", "create", "watch", "stop", "resume"],
        "suites": ["list", "show", "create", "evaluate"],
        "evaluations": ["list", "show", "watch", "stop", "resume", "export"],
    }
    for noun, names in verbs.items():
        for name in names:
            with pytest.raises(SystemExit) as done:
                main([noun, name, "--help"])
            assert done.value.code == 0, (noun, name)
