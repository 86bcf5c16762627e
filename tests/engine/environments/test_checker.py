"""The contract checker: each broken rule has its name, and a healthy environment has no findings."""

from __future__ import annotations

import inspect

import pytest

from engine.environments import ENVIRONMENTS
from engine.environments.checker import check_environment
from tests.engine.environments import broken

BROKEN = {
    "Raises": "raises",
    "ForgetsItsSeed": "reset-deterministic",
    "LetsLuckChooseTheProblem": "chance-changes-problem",
    "RollsGlobalDice": "global-randomness",
    "RollsNumpysGlobalDice": "global-randomness",
    "PaysAtRandom": "step-deterministic",
    "PaysNothingKnown": "reward",
    "EndsWithNumbers": "ends",
    "KeepsSuccessToItself": "info-keys",
    "SaysSomethingElse": "observation-is-render",
    "SpeaksForeignCharacters": "observation",
    "HasOneNameTooMany": "action-names",
    "NamesDifferByCase": "action-names",
    "NamesBreakTheAnswer": "action-names",
    "AcceptsAnything": "unknown-action",
    "GoesOnAfterTheEnd": "step-after-end",
    "StepsBeforeReset": "step-before-reset",
    "DrawsBytes": "drawing",
    "DrawsLava": "drawing",
    "DrawsTheAgentOutside": "drawing",
    "DrawsACloud": "drawing",
    "CountsUnderATakenName": "info-metrics",
    "DescribesNothing": "description",
    "GivesUp": "solvable",
    "ThinksItIsDone": "solution",
    "MovesWhileThinking": "solution-changes-state",
}


@pytest.mark.parametrize(("name", "rule"), BROKEN.items())
def test_a_broken_rule_is_found_by_its_name(name: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "broken", f"tests.engine.environments.broken:{name}")
    findings = check_environment("broken", seeds=range(6))
    assert rule in {finding.rule for finding in findings}
    assert all(finding.detail.startswith("seed ") for finding in findings)


def test_every_broken_environment_is_tried_here() -> None:
    written = {
        name for name, found in vars(broken).items() if inspect.isclass(found) and found.__module__ == broken.__name__
    }
    assert written == set(BROKEN)


def test_each_rule_is_reported_once_however_many_seeds_break_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "broken", "tests.engine.environments.broken:DescribesNothing")
    assert [finding.rule for finding in check_environment("broken", seeds=range(5))] == ["description"]
