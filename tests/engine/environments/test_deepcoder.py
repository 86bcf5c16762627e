from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from engine.config import EnvironmentConfig
from engine.environments import make_environment
from engine.environments.deepcoder import environment as deepcoder
from engine.environments.deepcoder.environment import DeepCoder, code_in
from engine.environments.deepcoder.judge import same_output, same_value
from engine.environments.deepcoder.make_tasks import make_rows, text_of
from engine.environments.deepcoder.task_files import SHIPPED
from engine.environments.deepcoder.tasks import CallTest, ProgramTest, longest, task_of
from engine.environments.players import baseline
from engine.errors import ConfigError, EnvironmentUnavailable
from engine.sandbox import CaseResult, Outcome, available_levels

pytestmark = pytest.mark.skipif(not available_levels(), reason="no level of isolation works on this machine")

# four tests: the sum of a list
SUM = {
    "problem": "Return the sum of the list.",
    "starter_code": "class Solution:\n    def total(self, numbers: List[int]) -> int:\n        ",
    "tests": json.dumps(
        [{"input": f"[{n}, 1]", "output": str(n + 1), "testtype": "functional"} for n in (1, 2, 3, 40)]
    ),
    "metadata": json.dumps({"func_name": "total"}),
    "solutions": json.dumps(["class Solution:\n    def total(self, numbers):\n        return sum(numbers)"]),
}
RIGHT = "class Solution:\n    def total(self, numbers: List[int]) -> int:\n        return sum(numbers)"


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def started(path: str, **parameters: Any) -> DeepCoder:
    environment = make_environment("deepcoder", path=path, **parameters)
    assert isinstance(environment, DeepCoder)
    environment.reset(seed=1)
    return environment


def total(body: str) -> str:
    return f"def total(numbers):\n    {body}"


@pytest.fixture
def sums(tmp_path: Path) -> str:
    return write(tmp_path / "tasks.jsonl", [SUM])


def test_the_reward_is_the_share_of_tests_passed(sums: str) -> None:
    environment = started(sums)
    # right for the inputs [1, 1], [2, 1] and [3, 1], so three of four
    _, reward, terminated, _, info = environment.step(total("return min(sum(numbers), 10)"))
    assert (reward, terminated, info["success"]) == (0.75, False, False)
    assert (info["passed_share"], info["wrong_answers"], info["timeouts"]) == (0.75, 1.0, 0.0)


def test_a_right_answer_ends_the_episode(sums: str) -> None:
    environment = started(sums)
    observation, reward, terminated, _, info = environment.step(RIGHT)
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    assert observation.startswith("4 of 4 tests passed.")


def test_all_or_nothing_pays_nothing_for_a_part(sums: str) -> None:
    environment = started(sums, reward="all_or_nothing")
    assert environment.step(total("return min(sum(numbers), 10)"))[1] == 0.0
    assert environment.step(RIGHT)[1] == 1.0


def test_a_later_turn_is_paid_only_for_what_it_adds(sums: str) -> None:
    environment = started(sums)
    rewards = [environment.step(total(f"return min(sum(numbers), {most})"))[1] for most in (2, 10, 10, 3)]
    # one test, then three, then no more than before
    assert rewards == [0.25, 0.5, 0.0, 0.0]
    assert environment.step(RIGHT)[1] == 0.25


def test_the_next_turn_shows_the_first_failing_test(sums: str) -> None:
    observation = started(sums).step(total("return min(sum(numbers), 10)"))[0]
    expected = "3 of 4 tests passed.\nFirst failing test:\nInput: total([40, 1])\nExpected: 41\nGot: 10"
    assert observation.startswith(expected)
    assert observation.endswith(SUM["starter_code"].strip())


@pytest.mark.parametrize(
    ("body", "metric"),
    [
        ("return None", "wrong_answers"),
        ("raise ValueError", "raised"),
        ("while True: pass", "timeouts"),
        ("return bytearray(10**10)", "out_of_memory"),
        ("while True: print('x' * 10000)", "output_overflows"),
        ("return object()", "raised"),
    ],
)
def test_each_way_to_fail_is_counted_separately(tmp_path: Path, body: str, metric: str) -> None:
    row = {**SUM, "tests": json.dumps(json.loads(SUM["tests"])[:1])}
    environment = started(write(tmp_path / "tasks.jsonl", [row]), seconds_per_test=0.5)
    _, reward, terminated, _, info = environment.step(total(body))
    counts = {name: info[name] for name in deepcoder.METRICS.values() if info[name]}
    assert (reward, terminated, counts) == (0.0, False, {metric: 1.0})


def test_a_printed_verdict_gains_nothing(sums: str) -> None:
    for forged in ("print('PASSED', 'True', 1)", "import os; os._exit(0)", "raise SystemExit(0)"):
        assert started(sums).step(f"{forged}\n{total('return 0')}")[1] == 0.0


def test_an_object_that_equals_everything_gains_nothing(sums: str) -> None:
    code = "class Any(int):\n    def __eq__(self, other): return True\n" + total("return Any(0)")
    assert started(sums).step(code)[1] == 0.0


def test_an_answer_without_code_is_invalid_and_changes_nothing(sums: str) -> None:
    environment = started(sums)
    for text in ("", "  \n", "```python\n```"):
        _, reward, _, _, info = environment.step(text)
        assert (reward, info["action_is_valid"], info["action_is_effective"]) == (0.0, False, False)


def test_what_is_no_python_is_invalid_and_counted_separately(sums: str) -> None:
    environment = started(sums)
    for text in ("def (", "x = = 1", "\x00", "\ud800", "(" * 10_000):
        _, reward, _, _, info = environment.step(text)
        assert (reward, info["action_is_valid"], info["not_python"], info["raised"]) == (0.0, False, 4.0, 0.0)


def test_code_is_the_last_block_of_python() -> None:
    assert code_in("print(1)\n") == "print(1)"
    assert code_in("So:\n```python\nx = 1\n```\nBetter:\n```python\nx = 2\n```\nIt prints:\n```\n2\n```") == "x = 2"
    assert code_in("```\nx = 3\n```") == "x = 3"
    assert code_in("x = '```'") == "x = '```'"
    assert code_in("```py\r\nx = 4\r\n```") == "x = 4"


def test_code_is_found_in_linear_time() -> None:
    assert code_in("```python\n" * 20_000)


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        (True, 1, False),
        (0, False, False),
        (True, True, True),
        (1, 1.0, True),
        (0.1 + 0.2, 0.3, True),
        (0.301, 0.3, False),
        ([1, [2, "a"]], [1, [2, "a"]], True),
        ([1], [1, 2], False),
        ("1", 1, False),
        (None, None, True),
        (None, 0, False),
        ({"a": 1.0}, {"a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        (10**400, 1.5, False),
        (float("nan"), float("nan"), False),
        (2**60, 2**60 + 1, False),
    ],
)
def test_values_are_compared_as_json(value: Any, expected: Any, same: bool) -> None:
    assert same_value(value, expected) is same


@pytest.mark.parametrize(
    ("output", "expected", "same"),
    [
        ("1 2\n", "1 2", True),
        ("  1 2  \n\n", "1 2\n", True),
        ("1.50 2\n", "1.5 2.0\n", True),
        ("1  2\n", "1 2\n", True),
        ("1\n2\n", "1 2\n", False),
        ("0.1", "0.2", False),
        ("yes", "Yes", False),
        ("nan", "NaN", False),
        ("", "0", False),
    ],
)
def test_outputs_are_compared_by_lines_then_as_decimals(output: str, expected: str, same: bool) -> None:
    assert same_output(output, expected) is same


def test_it_reads_the_shapes_that_published_data_has() -> None:
    programs = {"inputs": ["1\n", ["1", "2"]], "outputs": ["2\n", ["3"]]}
    taco = task_of({"problem": "p", "tests": json.dumps(programs)}, "a")
    assert taco.tests == (ProgramTest("1\n", "2\n"), ProgramTest("1\n2", "3"))
    calls = task_of({"problem": "p", "tests": {"inputs": [[1, 2]], "outputs": [[3]], "fn_name": "add"}}, "b")
    assert calls.tests == (CallTest("add", (1, 2), [3], wrapped=True),)
    live = task_of(
        {
            "question_content": "q",
            "starter_code": "class Solution:\n    def f(self, a, b):\n        ",
            "public_test_cases": json.dumps([{"input": "[1]\n2", "output": "[1, 2]", "testtype": "functional"}]),
            "private_test_cases": json.dumps([{"input": "1", "output": "2", "testtype": "stdin"}]),
        },
        "c",
    )
    assert live.tests == (CallTest("f", ([1], 2), [1, 2]), ProgramTest("1", "2"))


def test_only_the_longest_tests_are_kept_in_their_order() -> None:
    tests = tuple(ProgramTest("x" * length, "") for length in (5, 1, 9, 3))
    assert longest(tests, 2) == (tests[0], tests[2])


def test_it_reads_parquet_by_row(tmp_path: Path) -> None:
    path = tmp_path / "tasks.parquet"
    rows = [{**SUM, "problem": f"Task {index}."} for index in range(7)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=3)
    environment = make_environment("deepcoder", path=str(path))
    seen = {environment.reset(seed=seed)[0][:7] for seed in range(60)}
    # every fifth row, from the first, is held out
    assert seen == {f"Task {index}." for index in (1, 2, 3, 4, 6)}
    held_out = {environment.reset(seed=seed, options={"split": "held_out"})[0][:7] for seed in range(60)}
    assert held_out == {"Task 0.", "Task 5."}


def test_a_second_file_is_held_out_entirely(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.jsonl", [{**SUM, "problem": name}] * 6) for name in ("one", "two")]
    environment = make_environment("deepcoder", path=paths[0], held_out_path=paths[1])
    assert environment.reset(seed=5)[0].startswith("one")
    assert environment.reset(seed=5, options={"split": "held_out"})[0].startswith("two")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"problem": "p", "tests": "[]"}, "has no tests"),
        ({"problem": "p"}, "has no tests"),
        ({"problem": "p", "private_test_cases": "eJxrYJmqyAABPSJAAA=="}, "cannot be read"),
        ({"problem": "p", "tests": [{"input": 1, "output": 1, "testtype": "functional"}]}, "names no function"),
    ],
)
def test_a_task_without_tests_that_can_be_read_is_refused(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        started(write(tmp_path / "tasks.jsonl", [row]))


@pytest.mark.parametrize("name", ["missing.jsonl", "tasks.csv", "empty.jsonl", "broken.parquet"])
def test_a_file_that_cannot_be_read_is_refused_with_its_path(tmp_path: Path, name: str) -> None:
    if name != "missing.jsonl":
        (tmp_path / name).write_text("\n")
    with pytest.raises(ConfigError, match=name):
        started(str(tmp_path / name))


def test_without_a_sandbox_it_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.sandbox.levels.problem_with", lambda name: f"{name} is missing here")
    with pytest.raises(ConfigError, match=r"bubblewrap is missing here.*namespaces is missing here"):
        make_environment("deepcoder")


def test_a_sandbox_that_stops_working_stops_the_run(sums: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        name = "broken"

        def run(self, code: str, cases: list[Any], limits: Any) -> list[CaseResult]:
            return [CaseResult(outcome=Outcome.SANDBOX_FAILED, error="no memory")] * len(cases)

    environment = started(sums)
    monkeypatch.setattr(environment, "level", Broken())
    with pytest.raises(EnvironmentUnavailable, match="no memory"):
        environment.step(RIGHT)


def test_the_script_writes_the_shipped_tasks_again() -> None:
    assert text_of(make_rows()) == SHIPPED.read_text(encoding="utf-8")
    assert SHIPPED.stat().st_size < 500_000


def test_shipped_solutions_pass_in_the_sandbox_on_both_sides() -> None:
    environment = make_environment("deepcoder")
    assert isinstance(environment, DeepCoder)
    seen: dict[str, set[str]] = {"train": set(), "held_out": set()}
    for seed in range(8):
        for split, problems in seen.items():
            environment.reset(seed=seed, options={"split": split})
            problems.add(environment.problem())
            assert environment.step(environment.scripted_action(np.random.default_rng(seed)))[4]["success"]
    assert seen["train"] and not seen["train"] & seen["held_out"]


def test_no_two_shipped_tasks_are_equal_and_no_trivial_program_solves_one() -> None:
    rows = [json.loads(line) for line in SHIPPED.read_text(encoding="utf-8").splitlines()]
    assert len({row["problem"] for row in rows}) == len({row["name"] for row in rows}) == len(rows) == 231
    for row in rows:
        outputs = [json.dumps(test["output"]) for test in json.loads(row["tests"])]
        assert len(outputs) == 8
        assert len(set(outputs)) > 1, row["name"]  # one constant is no solution


def test_the_scripted_player_solves_and_the_random_one_does_not() -> None:
    config = EnvironmentConfig.model_validate({"kind": "deepcoder"})
    assert baseline(config, "scripted", episodes=4).mean_return == 1.0
    assert baseline(config, "random", episodes=4).success == 0.0


def test_long_answers_and_outputs_do_not_make_long_observations(sums: str) -> None:
    environment = started(sums)
    observation = environment.step(total(f"return 'x' * 50_000 # {'y' * 100_000}"))[0]
    assert "(50002 characters)" in observation
    assert len(observation) < 2000
    assert len(json.dumps(environment.drawing())) < 30_000
