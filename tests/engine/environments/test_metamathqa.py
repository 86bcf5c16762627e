"""MetaMathQA: word problems with tries that are worth less and less."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from engine.environments import make_environment
from engine.environments.base import Environment
from engine.environments.data.rows import read_rows
from engine.errors import ConfigError


def answer_of(environment: Environment) -> str:
    solution = environment.solution()
    assert isinstance(solution, list)
    return str(solution[0])


def test_the_first_correct_try_earns_1_and_each_one_before_halves_it() -> None:
    math = make_environment("metamathqa")
    for wrong in range(4):
        math.reset(seed=3)
        right = answer_of(math)
        for _ in range(wrong):
            observation, reward, over, _, info = math.step(f"{right}1")
            assert (reward, over, info["success"]) == (0.0, False, False)
            assert "is not correct" in observation
        observation, reward, over, truncated, info = math.step(right)
        assert (reward, over, truncated) == (0.5**wrong, True, False)
        expected = {"action_is_valid": True, "action_is_effective": True, "success": True, "tries": wrong + 1}
        assert info == expected


def test_the_default_budget_lets_every_try_happen() -> None:
    budget = type(make_environment("metamathqa")).default_budget
    assert min(budget["max_actions"], budget["max_turns"] * budget["max_actions_per_turn"]) == 5


def test_another_factor_counts_and_0_leaves_only_the_first_try() -> None:
    for factor, expected in ((0.0, 0.0), (0.25, 0.25), (1.0, 1.0)):
        math = make_environment("metamathqa", retry_factor=factor)
        math.reset(seed=1)
        right = answer_of(math)
        math.step("wrong")
        assert math.step(right)[1] == expected
        math.reset(seed=1)
        assert math.step(right)[1] == 1.0


@pytest.mark.parametrize("text", ["", "  \n", "7" * 2001])
def test_what_is_no_answer_is_invalid_and_no_try(text: str) -> None:
    math = make_environment("metamathqa")
    before, _ = math.reset(seed=1)
    observation, reward, over, _, info = math.step(text)
    assert (observation, reward, over) == (before, 0.0, False)
    assert info == {"action_is_valid": False, "action_is_effective": False, "success": False, "tries": 0}
    assert math.step(answer_of(math))[1] == 1.0


def test_the_observation_repeats_the_question_and_shows_the_last_try() -> None:
    math = make_environment("metamathqa")
    question, _ = math.reset(seed=5)
    math.step("1 million")
    observation = math.step("2 million " + "x" * 100)[0]
    assert observation.startswith(question)
    assert "1 million" not in observation
    assert observation.endswith("x... is not correct. Try again.")


def test_fewer_steps_are_easier_problems() -> None:
    steps = {row["question"]: row["steps"] for row in read_rows("word_problems")}
    for most in (1, 3, 4):
        math = make_environment("metamathqa", most_steps=most)
        assert {steps[math.reset(seed=seed)[0]] for seed in range(80)} == set(range(1, most + 1))


def test_training_and_evaluation_share_no_problem() -> None:
    math = make_environment("metamathqa")
    seen: dict[str, set[str]] = {"train": set(), "held_out": set()}
    for split, problems in seen.items():
        for seed in range(300):
            math.reset(seed=seed, options={"split": split})
            problems.add(math.problem())
    assert not seen["train"] & seen["held_out"]
    assert len(seen["train"]) > 280  # 300 draws of 3,358: 13 repeats expected


@pytest.mark.parametrize("kind", ["metamathqa", "static"])
@pytest.mark.parametrize("largest", [40, 90])
def test_generated_questions_have_no_larger_number_and_share_none_between_the_splits(kind: str, largest: int) -> None:
    questions = make_environment(kind, generate_up_to=largest)
    seen: dict[str, set[str]] = {"train": set(), "held_out": set()}
    for split, problems in seen.items():
        for seed in range(150):
            text, _ = questions.reset(seed=seed, options={"split": split})
            asked, *choices = text.split("\n")
            right = answer_of(questions)
            value = choices["ABCD".index(right)].partition(" ")[2] if choices else right
            assert all(int(number) <= largest for number in re.findall(r"\d+", f"{asked} {value}")), text
            assert questions.step(right)[1] == 1.0
            problems.add(questions.problem())
    assert seen["train"] and seen["held_out"] and not seen["train"] & seen["held_out"]


def test_a_seed_generates_the_same_problem_again() -> None:
    math = make_environment("metamathqa", most_steps=2, generate_up_to=50)
    assert math.reset(seed=8) == math.reset(seed=8)
    assert len({math.reset(seed=seed)[0] for seed in range(50)}) > 45


def test_numbers_so_small_that_no_question_has_them_are_an_error() -> None:
    with pytest.raises(ConfigError, match="No question with numbers as small"):
        make_environment("metamathqa", generate_up_to=1).reset(seed=1)


def test_the_drawing_lists_the_tries_with_their_result() -> None:
    math = make_environment("metamathqa")
    math.reset(seed=2)
    math.step("-1")
    math.step(answer_of(math))
    drawing = math.drawing()
    shown = [block["text"] for block in drawing["blocks"][1:]]
    assert drawing["type"] == "page"
    assert shown == ["Try 1: -1, not correct", f"Try 2: {math.tries[1]}, correct"]  # type: ignore[attr-defined]


def test_a_random_player_writes_numbers() -> None:
    math = make_environment("metamathqa")
    math.reset(seed=2)
    assert all(math.random_action(np.random.default_rng(seed)).isdigit() for seed in range(10))


ROWS: dict[str, list[dict[str, Any]]] = {
    "metamathqa": [
        {
            "query": f"What is {n} plus {n}, {how}?",
            "response": f"It is {n} + {n} = {2 * n}. #### {2 * n} The answer is: {2 * n}",
            "type": "GSM_Rephrased",
            "original_question": f"{n} + {n}?",
        }
        for n in range(20)
        for how in ("exactly", "in words")
    ],
    "gsm8k": [{"question": f"{n} + {n}?", "answer": f"<<{n}+{n}={2 * n}>>\n#### {2 * n:,}"} for n in range(990, 1020)],
}


def written(rows: list[dict[str, Any]], path: Path) -> str:
    if path.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        path.write_text(json.dumps(rows))
    return str(path)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet"])
@pytest.mark.parametrize("form", ["metamathqa", "gsm8k"])
def test_the_published_files_are_read_in_each_format(form: str, suffix: str, tmp_path: Path) -> None:
    math = make_environment("metamathqa", path=written(ROWS[form], tmp_path / f"some{suffix}"))
    for seed in range(10):
        observation, _ = math.reset(seed=seed)
        first = int("".join(c if c.isdigit() else " " for c in observation).split()[0])
        assert math.step(str(2 * first))[1] == 1.0


def test_rewritten_forms_of_a_question_are_on_one_side(tmp_path: Path) -> None:
    math = make_environment("metamathqa", path=written(ROWS["metamathqa"], tmp_path / "some.json"))
    sides: dict[str, set[str]] = {"train": set(), "held_out": set()}
    for split, problems in sides.items():
        for seed in range(100):
            math.reset(seed=seed, options={"split": split})
            problems.add(math.problem())
    assert not sides["train"] & sides["held_out"]
    assert len(sides["train"] | sides["held_out"]) == 20


def test_a_second_file_is_what_evaluation_asks_and_is_taken_out_of_training(tmp_path: Path) -> None:
    rows = ROWS["gsm8k"]
    files = {
        "path": written(rows, tmp_path / "train.jsonl"),
        "held_out_path": written(rows[:3], tmp_path / "test.jsonl"),
    }
    math = make_environment("metamathqa", **files)
    asked = {
        split: {math.reset(seed=s, options={"split": split})[0] for s in range(200)} for split in ("train", "held_out")
    }
    assert asked["held_out"] == {row["question"] for row in rows[:3]}
    assert asked["train"] == {row["question"] for row in rows[3:]}


def test_a_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = written(ROWS["gsm8k"], tmp_path / "some.json")
    math = make_environment("metamathqa", path=path)
    math.reset(seed=1)
    written([{"question": f"Say {n}", "answer": f"#### {n}"} for n in range(30)], Path(path))
    os.utime(path, ns=(1, 1))
    assert math.reset(seed=1)[0].startswith("Say ")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("gone.json", None, "gone.json cannot be read"),
        ("some.txt", "x", "its name does not end in one of the known formats"),
        ("some.json", "{", "cannot be read: "),
        ("some.json", "3", "it is not a list of objects"),
        ("some.jsonl", "[1]", "a row is a list, not an object"),
        ("some.parquet", "x", "cannot be read: "),
        ("some.json", '[{"text": "x"}]', "has no questions; its columns are: text"),
        ("some.json", '[{"question": "x", "answer": "1"}]', "too few to keep some for evaluation"),
        ("folder", "", "cannot be read: the folder has none of these files"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(
    name: str, content: str | None, reason: str, tmp_path: Path
) -> None:
    if name == "folder":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=reason):
        make_environment("metamathqa", path=str(tmp_path / name)).reset(seed=1)
