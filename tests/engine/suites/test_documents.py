"""What a suite is, which problems it may have, and when two evaluations compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engine.config import EnvironmentConfig
from engine.environments import ENVIRONMENTS, environment_class, environment_of
from engine.environments.problems import HELD_OUT_EVERY, reset_in_split
from engine.errors import ConfigError
from engine.suites.command import read_suite
from engine.suites.comparability import conditions_of, differences, key_of
from engine.suites.resolve import SuiteDraft, require_held_out, resolve
from engine.suites.shipped import shipped_suites
from engine.suites.suite import Suite, SuiteItem
from tests.engine.suites.suites import lakes


def with_item(suite: Suite, **fields: object) -> Suite:
    return suite.model_copy(update={"items": [suite.items[0].model_copy(update=fields)]})


def test_names_and_seeds_do_not_change_the_key_and_everything_that_is_played_does() -> None:
    suite = lakes()
    key = key_of(conditions_of(suite))
    same = with_item(suite.model_copy(update={"name": "other", "version": 7}), seeds=[9, 8, 7, 6], name="Ice")
    assert key_of(conditions_of(same)) == key
    environment = suite.items[0].environment
    changes: list[dict[str, Any]] = [
        {"temperature": 0.0},
        {"top_p": 0.9},
        {"top_k": 20},
        {"samples": 2},
        {"think": False},
        {"max_context_tokens": 512},
        {"problems": suite.items[0].problems[::-1]},
        {"environment": environment.model_copy(update={"max_turns": 3})},
        {"environment": environment.model_copy(update={"parameters": {"size": 5}})},
        {"environment": environment.model_copy(update={"instruction": "Go."})},
    ]
    keys = [key_of(conditions_of(with_item(suite, **change))) for change in changes]
    assert len({key, *keys}) == 1 + len(changes)


def test_a_default_that_is_written_down_has_the_key_of_one_that_is_not() -> None:
    suite = lakes()
    environment = suite.items[0].environment.model_copy(update={"parameters": {"size": 4}})
    assert key_of(conditions_of(with_item(suite, environment=environment))) == key_of(conditions_of(suite))


def test_differences_are_said_in_words() -> None:
    suite = lakes()
    environment = suite.items[0].environment.model_copy(update={"max_turns": 3, "instruction": "Go."})
    other = with_item(suite, temperature=0.0, samples=2, environment=environment, problems=suite.items[0].problems[:1])
    assert differences(conditions_of(suite), conditions_of(other)) == [
        "Lake: another instruction",
        "Lake: number of problems 4, not 1",
        "Lake: other problems",
        "Lake: samples per problem 1, not 2",
        "Lake: temperature 0.5, not 0.0",
        "Lake: max turns 2, not 3",
    ]
    assert differences(conditions_of(with_item(suite, top_p=0.9)), conditions_of(suite)) == [
        "Lake: top-p 0.9, not none"
    ]
    assert differences(conditions_of(suite), conditions_of(suite)) == []


def test_problems_are_held_out_all_different_and_those_that_their_seeds_start() -> None:
    item = lakes(count=40).items[0]
    assert len(set(item.problems)) == 40
    assert all(int(problem, 16) % HELD_OUT_EVERY == 0 for problem in item.problems)
    environment = environment_of(item.environment)
    for seed, problem in zip(item.seeds, item.problems, strict=True):
        start = reset_in_split(environment, seed=seed, split="held_out")
        assert (start.seed, f"{start.problem:016x}") == (seed, problem)


def test_a_suite_has_fewer_problems_than_asked_where_there_are_no_more() -> None:
    # training has other pairs of names than the eight that are held out
    draft = {"name": "arms", "items": [{"name": "Arms", "environment": {"kind": "bandit"}, "count": 50}]}
    assert len(resolve(SuiteDraft.model_validate(draft)).items[0].problems) == 8


def test_a_suite_with_training_problems_is_refused_by_name(tmp_path: Path) -> None:
    environment = environment_of(EnvironmentConfig(kind="frozen_lake"))
    starts = {seed: reset_in_split(environment, seed=seed, split="train").seed == seed for seed in range(12)}
    training = [seed for seed, is_training in starts.items() if is_training]
    item = {"name": "Lake", "environment": {"kind": "frozen_lake"}, "seeds": list(starts)}
    with pytest.raises(ConfigError) as refused:
        resolve(SuiteDraft.model_validate({"name": "cheat", "items": [item]}))
    shown = ", ".join(map(str, training[:5]))
    assert str(refused.value).startswith(f"Suite 'cheat' has training problems: in 'Lake' those of seeds {shown} and")

    suite = lakes()
    odd = f"{int(suite.items[0].problems[2], 16) + 1:016x}"  # no multiple of five
    problems = [*suite.items[0].problems[:2], odd, *suite.items[0].problems[3:]]
    document = with_item(suite, problems=problems).model_dump(mode="json")
    file = tmp_path / "suite.json"
    file.write_text(json.dumps(document))
    with pytest.raises(ConfigError, match=f"Suite 'lakes v1' .* in 'Lake' those of seeds {suite.items[0].seeds[2]}"):
        read_suite(str(file))
    require_held_out(suite)


def test_an_environment_that_keeps_nothing_for_evaluation_is_refused() -> None:
    environment = {"kind": "bandit", "parameters": {"split": "test"}}
    draft = SuiteDraft.model_validate({"name": "arms", "items": [{"name": "Arms", "environment": environment}]})
    with pytest.raises(ConfigError, match="'Arms' keeps no problems for evaluation"):
        resolve(draft)


def test_a_problem_is_listed_once() -> None:
    item = lakes().items[0].model_dump()
    with pytest.raises(ValidationError, match="one is listed twice"):
        SuiteItem.model_validate({**item, "problems": [item["problems"][0]] * 4})
    with pytest.raises(ValidationError, match="4 for 3 seeds"):
        SuiteItem.model_validate({**item, "seeds": item["seeds"][:3]})


def test_an_unknown_suite_names_those_that_ship() -> None:
    with pytest.raises(ConfigError, match="There is no suite 'lake'"):
        read_suite("lake")


def test_every_environment_that_needs_nothing_has_a_suite_and_is_in_the_overall_one() -> None:
    suites = shipped_suites()
    kinds = {kind for kind in ENVIRONMENTS if not environment_class(kind).needs}
    alone = {suite.items[0].environment.kind for suite in suites.values() if len(suite.items) == 1}
    assert alone == kinds
    assert {item.environment.kind for item in suites["overall"].items} == kinds


def test_the_generalisation_suite_has_the_variants_of_the_paper() -> None:
    same, larger, symbols, lake = shipped_suites()["sokoban-generalisation"].items
    assert (larger.environment.parameters["rows"], larger.environment.parameters["boxes"]) == (8, 2)
    assert symbols.environment.parameters["symbols"]["wall"] == "W"
    assert (same.environment.kind, lake.environment.kind) == ("sokoban", "frozen_lake")
    assert {len(item.problems) for item in (same, larger, symbols, lake)} == {128}  # 128 of each, as the paper has


@pytest.mark.parametrize("name", sorted(shipped_suites()))
def test_the_recorded_problems_are_those_that_their_seeds_start(name: str) -> None:
    """Fails when an environment changed: raise its version and that of the suite, and record the problems again."""
    for item in shipped_suites()[name].items:
        environment = environment_of(item.environment)
        for seed, problem in list(zip(item.seeds, item.problems, strict=True))[:2]:
            start = reset_in_split(environment, seed=seed, split="held_out")
            assert (start.in_split, start.seed, f"{start.problem:016x}") == (True, seed, problem), item.name
        environment.close()
