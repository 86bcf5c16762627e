"""The adapter for reasoning-gym, with the installed package."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium.utils.env_checker import check_env

from engine.environments import make_environment
from engine.environments.base import UNKNOWN
from engine.environments.checker import check_environment
from engine.environments.problems import problem_id, reset_in_split, split_of_problem
from engine.errors import ConfigError

library = pytest.importorskip("reasoning_gym", reason="needs the extra reasoning-gym")

CHECKED = ["chain_sum", "leg_counting", "pool_matrix", "simple_integration", "prime_factorization", "countdown"]


def asked(dataset: str, seed: int = 3, **parameters: Any) -> Any:
    environment = make_environment("reasoning_gym", dataset=dataset, **parameters)
    environment.reset(seed=seed)
    return environment


@pytest.mark.parametrize("dataset", CHECKED)
def test_it_keeps_the_contract(dataset: str) -> None:
    assert check_environment("reasoning_gym", {"dataset": dataset}, range(4)) == []
    check_env(make_environment("reasoning_gym", dataset=dataset), skip_render_check=True)


def test_a_seed_is_the_packages_own_item_and_is_scored_by_its_own_rule() -> None:
    item = library.create_dataset("chain_sum", seed=0, size=100)[17]
    environment = make_environment("reasoning_gym", items=100)
    assert environment.reset(seed=117)[0] == item["question"]  # 117 modulo 100
    assert environment.solution() == [item["answer"]]
    observation, reward, terminated, truncated, info = environment.step(f" {item['answer']}\n")
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    assert observation == f"{item['question']}\n\n{item['answer']}: score 1"


def test_a_part_of_the_score_is_a_reward_and_no_success_below_the_threshold() -> None:
    environment = asked("chain_sum")
    answer = environment.solution()[0]
    text = f"It is {answer}"
    _, reward, _, _, info = environment.step(text)
    assert reward == pytest.approx(len(answer) / len(text))  # the package's rule for an answer within a text
    assert info["success"] is False
    lenient = asked("chain_sum", success_score=0.1)
    assert lenient.step(text)[4]["success"] is True


def test_settings_reach_the_data_set() -> None:
    environment = asked("chain_sum", options={"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1})
    assert sum(word.isdigit() for word in environment.render().split()) == 2


@pytest.mark.parametrize("dataset", ["simple_integration", "polynomial_multiplication"])
def test_own_answers_pass_the_guard_of_formulas(dataset: str) -> None:
    for seed in range(4):
        assert asked(dataset, seed).solution() is not UNKNOWN


def test_an_integral_is_not_answered_by_writing_it_down() -> None:
    integral = asked("simple_integration")
    integrand = integral.item["metadata"]["integrand"]
    # SymPy would differentiate it to the integrand, which is all that the package's scorer asks for
    _, reward, _, _, info = integral.step(f"Integral({integrand}, {integral.item['metadata']['variable']})")
    assert (reward, info["action_is_valid"]) == (0.0, False)


@pytest.mark.parametrize("dataset", ["string_insertion", "n_queens", "spiral_matrix", "binary_matrix"])
def test_own_answers_pass_the_guard_of_literals(dataset: str) -> None:
    for seed in range(6):
        assert asked(dataset, seed).solution() is not UNKNOWN


@pytest.mark.parametrize("dataset", ["countdown", "n_queens", "simple_integration"])
def test_code_in_an_answer_is_invalid_and_does_not_run(dataset: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, reward, terminated, _, info = asked(dataset).step("print('ran')")
    assert (reward, terminated, info["action_is_valid"], info["success"]) == (0.0, True, False, False)
    assert capsys.readouterr().out == ""


def test_text_that_a_scorer_cannot_read_is_invalid() -> None:
    assert asked("prime_factorization").step("two times three")[4]["action_is_valid"] is False


def test_problems_are_kept_for_evaluation_by_their_question() -> None:
    environment = make_environment("reasoning_gym", dataset="gcd")
    for split in ("train", "held_out"):
        for seed in range(5):
            assert reset_in_split(environment, seed=seed, split=split).in_split
            assert split_of_problem(problem_id(environment)) == split


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"dataset": "no_such"}, r"reasoning-gym has no data set 'no_such'\. Choose one of: ab, "),
        ({"dataset": "codeio"}, "it runs program code that a model wrote"),
        ({"options": {"nope": 1}}, "unexpected keyword argument 'nope'"),
        ({"options": {"min_terms": -1}}, "cannot be used with"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_environment("reasoning_gym", **parameters)
