"""Static question answering: choices by letter or by text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.environments import make_environment
from engine.environments.questions.environment import QuestionEnvironment


def asked(**parameters: Any) -> QuestionEnvironment:
    environment = make_environment("static", **parameters)
    assert isinstance(environment, QuestionEnvironment)
    environment.reset(seed=4)
    return environment


def test_the_observation_has_the_question_and_its_choices_with_letters() -> None:
    first, *rest = asked().render().split("\n")
    assert first.endswith("?") or first.endswith(".")
    assert [line[:3] for line in rest] == ["A. ", "B. ", "C. ", "D. "]


def test_a_choice_is_named_by_its_letter_or_by_its_text() -> None:
    static = asked()
    right = static.question.answer
    text = static.question.choices["ABCD".index(right)]
    for written in (right, right.lower(), f"({right})", f"{right}.", f"{right}) {text}", f" {right}: so ", text):
        static.reset(seed=4)
        assert static.step(written)[1] == 1.0


@pytest.mark.parametrize("text", ["", "E", "Because", "A or B", "AB", "none of them", "5" * 3000])
def test_what_names_no_choice_is_invalid_and_no_try(text: str) -> None:
    static = asked()
    before = static.render()
    observation, reward, over, _, info = static.step(text)
    assert (observation, reward, over, info["action_is_valid"], info["tries"]) == (before, 0.0, False, False, 0)


def test_the_last_of_four_choices_earns_an_eighth() -> None:
    static = asked()
    wrong = [letter for letter in "ABCD" if letter != static.question.answer]
    assert [static.step(letter)[1] for letter in (*wrong, static.question.answer)] == [0.0, 0.0, 0.0, 0.125]


def test_a_try_is_marked_in_the_drawing() -> None:
    static = asked()
    static.step("b")
    states = [block["state"] for block in static.drawing()["blocks"] if block["kind"] == "button"]
    assert states == ["normal", "chosen", "normal", "normal"]


def test_a_topic_asks_only_its_questions() -> None:
    units = asked(topic="units")
    assert all(units.reset(seed=seed)[0].startswith("How many ") for seed in range(20))


def test_a_random_player_is_right_in_a_quarter_of_first_tries() -> None:
    static = asked()
    rng = np.random.default_rng(0)
    won = 0
    for seed in range(800):
        static.reset(seed=seed)
        won += static.step(static.random_action(rng))[1] == 1.0
    # 0.25 with a standard deviation of sqrt(0.25 * 0.75 / 800) = 0.015
    assert won / 800 == pytest.approx(0.25, abs=0.06)


@pytest.mark.parametrize("answer", [2, "C", "c", "blue"])
def test_mmlu_gives_its_answer_as_an_index_a_letter_or_the_choice(answer: int | str, tmp_path: Path) -> None:
    rows = [
        {"question": f"Question {n}?", "subject": "x", "choices": ["red", "green", "blue", "grey"], "answer": answer}
        for n in range(30)
    ]
    (tmp_path / "some.json").write_text(json.dumps({"data": rows}))
    static = asked(path=str(tmp_path / "some.json"))
    assert static.question.answer == "C"
    assert static.step("c")[1] == 1.0


def test_the_description_says_how_to_answer_and_what_a_wrong_try_costs(tmp_path: Path) -> None:
    assert asked().describe().split("\n") == [
        "Answer with the letter of a choice.",
        "A correct answer earns 1; each wrong answer before it multiplies that by 0.5.",
    ]
    assert make_environment("metamathqa").describe().startswith("Answer with the number alone.\n")
    assert "Where there are choices" in make_environment("static", path=str(tmp_path)).describe()
    assert make_environment("static", retry_factor=1.0).describe().endswith("earns 1; at any try.")
