"""Countdown: exact and safe arithmetic, problems that can be solved, TinyZero's and RAGEN's rewards."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
from pydantic import ValidationError

from engine.environments import make_environment
from engine.environments.arithmetic import evaluate
from engine.environments.base import Environment
from engine.environments.countdown import CountdownParameters
from engine.environments.countdown_problems import Ranges, draw_problem
from engine.environments.countdown_values import Reachable
from engine.environments.problems import problem_id, reset_in_split, split_of_problem
from engine.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value", "numbers"),
    [
        ("5 * (5 - 1 / 5)", Fraction(24), (1, 5, 5, 5)),
        ("  1 - -2 ", Fraction(3), (1, 2)),
        ("(1 +\n2) * 3", Fraction(9), (1, 2, 3)),
        ("1 / 3 + 1 / 3", Fraction(2, 3), (1, 1, 3, 3)),
        ("12", Fraction(12), (12,)),
        ("7 / (4 - 4)", None, (4, 4, 7)),
        ("0 / 5", Fraction(0), (0, 5)),
    ],
)
def test_expressions_have_exact_values(text: str, value: Fraction | None, numbers: tuple[int, ...]) -> None:
    evaluated = evaluate(text)
    assert evaluated is not None
    assert (evaluated.value, evaluated.numbers) == (value, numbers)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "()",
        "2 ** 3",
        "9**9**9**9",
        "7 // 2",
        "1(2)",
        "007 + 1",
        "1_000",
        "0x10",
        "1.5 + 1",
        "3 + 4 = 7",
        "1, 2",
        "1 < 2",
        "True + 1",
        "abs(3)",
        "__import__('os').system('true')",
        "٣ + 4",  # an Arabic-Indic digit
        "3 + x",
        "1 / 0 + 2 ** 3",
        "(" * 90 + "1" + ")" * 91,
        "-" * 17 + "1",  # deeper than 16 levels
        "+".join("1" * 20),  # 39 nodes
        "1" * 201,
        "1 +\u0000 2",
    ],
)
def test_what_is_no_arithmetic_has_no_value(text: str) -> None:
    assert evaluate(text) is None


def test_no_text_takes_long() -> None:
    started = time.process_time()
    for text in ("9**9**9**9", "9" * 200, "(" * 200, "-" * 200, "9*" * 99 + "9", "1" * 1_000_000):
        evaluate(text)
    assert time.process_time() - started < 0.5


def test_two_numbers_make_six_values() -> None:
    # 8 + 2, 8 - 2, 2 - 8, 8 * 2, 8 / 2 and 2 / 8, of which the last is not whole
    reachable = Reachable((8, 2), "+-*/")
    assert reachable.whole_values() == [-6, 4, 6, 10, 16]
    assert [reachable.count(value) for value in (-6, 4, 5, 6)] == [1, 1, 0, 1]
    assert Reachable((8, 2), "+-").whole_values() == [-6, 6, 10]


def test_ways_are_counted_up_to_the_order_of_two_operands() -> None:
    # 1 + 2 + 3: (1 + 2) + 3, (1 + 3) + 2, (2 + 3) + 1; with products also 1 * 2 * 3, in three ways
    assert Reachable((1, 2, 3), "+").count(6) == 3
    assert Reachable((1, 2, 3), "+*").count(6) == 6


def test_a_value_that_needs_a_fraction_on_the_way_is_found() -> None:
    expression = Reachable((1, 5, 5, 5), "+-*/").expression(24)
    evaluated = evaluate(expression or "")
    assert evaluated is not None
    assert (evaluated.value, evaluated.numbers) == (Fraction(24), (1, 5, 5, 5))
    assert Reachable((1, 1, 1, 1), "+-*/").expression(24) is None


def test_the_expression_of_every_value_has_that_value() -> None:
    chance = np.random.default_rng(1)
    for _ in range(20):
        numbers = tuple(int(one) for one in chance.integers(1, 20, size=4))
        reachable = Reachable(numbers, "+-*/")
        for value in reachable.whole_values()[::7]:
            evaluated = evaluate(reachable.expression(value) or "")
            assert evaluated is not None
            assert (evaluated.value, evaluated.numbers) == (Fraction(value), tuple(sorted(numbers)))


def test_problems_are_drawn_within_their_ranges_and_state_their_number_of_ways() -> None:
    ranges = Ranges((3, 4), (2, 12), (10, 40), "+-*/")
    problems = [draw_problem(seed, ranges) for seed in range(60)]
    assert {len(one.numbers) for one in problems} == {3, 4}
    assert all(2 <= number <= 12 for one in problems for number in one.numbers)
    assert all(10 <= one.target <= 40 for one in problems)
    assert all(one.ways == Reachable(one.numbers, "+-*/").count(one.target) >= 1 for one in problems)
    assert len({one.numbers for one in problems}) > 50


def started(**parameters: object) -> Environment:
    """The problem `Numbers: 3 5 8`, `Target: 16`, or the first seed that has its numbers."""
    environment = make_environment("countdown", **{"fewest_numbers": 3, "most_numbers": 3, **parameters})
    environment.reset(seed=0)
    environment.current = type(environment.current)((3, 5, 8), 16, "3 + 5 + 8", 3)  # type: ignore[attr-defined]
    return environment


@pytest.mark.parametrize(
    ("answer", "parameters", "reward"),
    [
        ("3 + 5 + 8", {}, 1.0),
        ("8 - -5 + 3", {}, 1.0),
        ("3 * 5 - 8", {}, 0.1),  # right numbers, 7
        ("3 / (8 - 5 - 3)", {}, 0.0),  # 3 twice
        ("8 / (5 - 3)", {}, 0.1),
        ("16", {}, 0.0),
        ("8 + 8", {}, 0.0),
        ("8 + 8", {"wrong_numbers_score": 0.1}, 0.1),  # TinyZero
        ("3 * 5 - 8", {"format_score": 0.0}, 0.0),
    ],
)
def test_rewards_are_those_of_ragen_or_tinyzero(answer: str, parameters: dict[str, float], reward: float) -> None:
    _, earned, terminated, truncated, info = started(**parameters).step(answer)
    assert (earned, terminated, truncated) == (reward, True, False)
    assert info == {"action_is_valid": True, "action_is_effective": True, "success": reward == 1.0}


def test_a_score_of_1_for_wrong_numbers_is_still_no_success() -> None:
    environment = started(wrong_numbers_score=1.0)
    assert environment.step("8 + 8")[4]["success"] is False
    assert environment.solution() is None


def test_text_that_is_no_expression_is_no_attempt() -> None:
    environment = started()
    before = environment.render()
    observation, reward, terminated, _, info = environment.step("the answer is 16")
    assert (observation, reward, terminated, info["action_is_valid"]) == (before, 0.0, False, False)
    assert environment.step("3 + 5 + 8")[1] == 1.0


def test_further_attempts_see_what_was_wrong() -> None:
    environment = started(attempts=4)
    assert environment.render() == "Numbers: 3 5 8\nTarget: 16"
    assert environment.step("3 * 5 - 8")[0] == "Numbers: 3 5 8\nTarget: 16\n3 * 5 - 8 = 7, not 16"
    assert environment.step("8 + 8")[0].endswith("\n8 + 8: not each number once")
    assert environment.step("3 / (5 - 5 * 1) + 8")[0].endswith("\n3 / (5 - 5 * 1) + 8: not each number once")
    observation, reward, terminated, _, _ = environment.step("8 + 5 + 3")
    assert (reward, terminated) == (1.0, True)
    assert observation.endswith("\n8 + 5 + 3 = 16")


def test_a_division_by_zero_with_the_right_numbers_earns_the_format_score() -> None:
    environment = started()
    environment.current = type(environment.current)((4, 4, 7), 15, "4 + 4 + 7", 3)  # type: ignore[attr-defined]
    observation, reward, *_ = environment.step("7 / (4 - 4)")
    assert reward == 0.1
    assert observation.endswith("7 / (4 - 4): divides by zero")


def test_a_problem_is_the_same_in_any_order_of_its_numbers() -> None:
    environment = started()
    first = environment.problem()
    environment.current = type(environment.current)((8, 3, 5), 16, "8 + 3 + 5", 3)  # type: ignore[attr-defined]
    assert environment.problem() == first == "3 5 8 = 16"


def test_random_answers_use_the_right_numbers_and_rarely_hit_the_target() -> None:
    environment = make_environment("countdown", operations="+-*/")
    chance = np.random.default_rng(3)
    rewards = []
    for seed in range(100):
        environment.reset(seed=seed)
        rewards.append(environment.step(environment.random_action(chance))[1])
    assert set(rewards) <= {0.1, 1.0}
    assert rewards.count(1.0) < 20


def write(path: Path, rows: list[tuple[int, list[int]]]) -> str:
    table = arrow.table({"target": [target for target, _ in rows], "nums": [numbers for _, numbers in rows]})
    parquet.write_table(table, path)
    return str(path)


def test_problems_of_a_file_are_those_that_the_operations_solve(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [(10, [4, 6]), (24, [4, 6]), (7, [1, 2, 4]), (99, [1, 1])])
    environment = make_environment("countdown", path=path)
    seen = set()
    for seed in range(30):
        environment.reset(seed=seed)
        seen.add(environment.problem())
    assert seen == {"4 6 = 10", "1 2 4 = 7"}


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    environment = make_environment("countdown", path=write(tmp_path / "a.parquet", [(10, [4, 6])]))
    environment.reset(seed=1)
    write(tmp_path / "a.parquet", [(7, [1, 2, 4])])
    environment.reset(seed=1)
    assert environment.problem() == "1 2 4 = 7"


def test_a_file_is_split_by_the_hash_of_its_problems(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [(a + b, [a, b]) for a in range(1, 20) for b in range(1, 20)])
    environment = make_environment("countdown", path=path)
    for seed in range(20):
        assert reset_in_split(environment, seed=seed, split="held_out").in_split
        assert split_of_problem(problem_id(environment)) == "held_out"


def test_of_two_files_one_is_for_training_and_the_other_for_evaluation_and_they_share_nothing(tmp_path: Path) -> None:
    train = write(tmp_path / "train.parquet", [(10, [4, 6]), (3, [1, 2]), (9, [4, 5])])
    held_out = write(tmp_path / "test.parquet", [(3, [2, 1]), (12, [5, 7])])
    environment = make_environment("countdown", path=train, held_out_path=held_out)
    seen: dict[str, set[str]] = {"train": set(), "held_out": set()}
    for split, problems in seen.items():
        for seed in range(30):
            environment.reset(seed=seed, options={"split": split})
            problems.add(environment.problem())
    assert seen == {"train": {"4 6 = 10", "4 5 = 9"}, "held_out": {"1 2 = 3", "5 7 = 12"}}


def test_a_file_that_is_none_is_refused_with_what_it_should_have(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no Parquet")
    for path in (tmp_path / "a.parquet", tmp_path / "missing.parquet"):
        with pytest.raises(ConfigError, match="columns target"):
            make_environment("countdown", path=str(path)).reset(seed=1)
    wrong = tmp_path / "wrong.parquet"
    parquet.write_table(arrow.table({"question": ["a"]}), wrong)
    with pytest.raises(ConfigError, match="columns target"):
        make_environment("countdown", path=str(wrong)).reset(seed=1)


def test_ranges_that_no_numbers_meet_are_refused() -> None:
    environment = make_environment("countdown", operations="+", smallest_number=90, largest_target=100)
    with pytest.raises(ConfigError, match="Widen the range"):
        environment.reset(seed=1)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"fewest_numbers": 4, "most_numbers": 3}, "most_numbers: 3 is less than 4"),
        ({"operations": "+^"}, "give some of"),
        ({"operations": ""}, "give some of"),
        ({"held_out_path": "test.parquet"}, "needs path as well"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        CountdownParameters.model_validate(parameters)
