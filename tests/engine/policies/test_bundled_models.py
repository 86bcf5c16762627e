"""The models that ship: their paths, their size, their cards, and the scripted play that they imitated."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest
from safetensors import safe_open

from engine.environments.registry import make_environment
from engine.errors import ModelError
from engine.models.tiny import imitation_data, tokenizer
from engine.models.tiny.recipes import PUZZLES, RECIPES
from engine.models.tiny.thoughts import thought
from engine.policies.loading import load_model, load_tokenizer
from engine.policies.model_paths import BUNDLED, check_model_path
from engine.rollout.context_manager import ContextManager
from engine.rollout.types import Trajectory

MOST_BYTES = 3_000_000


@lru_cache(maxsize=1)
def played() -> list[Trajectory]:
    context = ContextManager(tokenizer.learn([], vocabulary=300), think=True)
    return imitation_data.play(context, PUZZLES, episodes=150, seed=2)


def said(kind: str, plan: list[str], seed: int = 1, **parameters: object) -> list[str]:
    """Forty thoughts about one problem."""
    environment = make_environment(kind, **parameters)
    environment.reset(seed=seed)
    return [thought(environment, plan, np.random.default_rng(draw)) for draw in range(40)]


def test_there_is_a_recipe_for_each_bundled_model() -> None:
    assert set(RECIPES) == set(BUNDLED)


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_model_is_found_by_its_name_and_is_small(name: str) -> None:
    check_model_path(name)
    model, words = load_model(name)
    assert 500_000 < model.num_parameters() < 1_000_000
    assert (BUNDLED[name] / "model.safetensors").stat().st_size < MOST_BYTES
    assert words.decode(words.encode("Make 24 of 3 8", add_special_tokens=False)) == "Make 24 of 3 8"


@pytest.mark.parametrize("name", BUNDLED)
def test_its_card_states_its_size_its_data_and_its_success_on_each_environment(name: str) -> None:
    card = (BUNDLED[name] / "README.md").read_text()
    recipe = RECIPES[name]
    with safe_open(BUNDLED[name] / "model.safetensors", "pt") as weights:
        parameters = sum(weights.get_tensor(key).numel() for key in weights.keys())  # noqa: SIM118
    assert f"# {recipe.title}\n" in card
    assert f"{parameters:,} parameters" in card
    assert f"{recipe.episodes:,} scripted episodes" in card
    for environment in recipe.measured:
        row = next(line for line in card.splitlines() if line.startswith(f"| {environment['tag']} |"))
        assert re.search(r"\| 0\.\d{3} \| 0\.\d{3} to 0\.\d{3} \|", row)


def test_a_name_that_is_no_bundled_model_is_not_taken_for_one() -> None:
    with pytest.raises(ModelError, match="does not exist"):
        check_model_path("./tiny-puzzles")


def test_the_tokenizer_of_puzzles_gives_each_digit_a_token() -> None:
    words = load_tokenizer("tiny-puzzles")
    for number in ("7", "24", "305"):
        pieces = [words.decode([one]) for one in words.encode(f"{number}\n", add_special_tokens=False)]
        assert pieces[: len(number)] == list(number)


def test_scripted_players_of_puzzles_write_well_formed_responses_on_every_environment_of_the_mix() -> None:
    assert {one.kind for one in played()} == {component.config["kind"] for component in PUZZLES.mix}
    assert {turn.parsed.case for one in played() for turn in one.turns} == {"ok"}
    assert not any(one.stop in ("fault", "context_full") for one in played())


def test_they_succeed_often_but_not_always() -> None:
    share = np.mean([one.success for one in played()])
    assert 0.5 < share < 0.95


def test_the_same_seed_gives_the_same_play() -> None:
    context = ContextManager(tokenizer.learn([], vocabulary=300), think=True)
    again = imitation_data.play(context, PUZZLES, episodes=150, seed=2)
    assert [one.ids for one in again] == [one.ids for one in played()]


def test_a_thought_about_countdown_has_true_sums_and_a_verdict_for_each() -> None:
    """Seed 0 of these parameters: 18 8 20, to make 30. 18 + 20 - 8 = 30."""
    problem = {"fewest_numbers": 3, "most_numbers": 4, "largest_number": 20}
    thoughts = said("countdown", ["18 + 20 - 8"], seed=0, **problem)
    assert any(one.endswith("18 + 20 - 8 = 30 yes") for one in thoughts)
    sums = [
        found for one in thoughts for found in re.findall(r"(\d+) ([+-]) (\d+) ([+-]) (\d+) = (-?\d+) (yes|no)", one)
    ]
    assert len(sums) > 20
    for a, first, b, second, c, value, verdict in sums:
        total = int(a) + (int(b) if first == "+" else -int(b)) + (int(c) if second == "+" else -int(c))
        assert (total, verdict) == (int(value), "yes" if total == 30 else "no")


def test_a_thought_about_sudoku_lists_the_row_and_the_column_of_its_cell() -> None:
    """Seed 1: rows 4.3., 1324, 314., 2413. Row 1 has 4 and 3, column 2 has 3, 1 and 4."""
    thoughts = said("sudoku", ["(1,2,2)"], empty_cells=3)
    assert "row 1 has 4 3 column 2 has 3 1 4 so 2" in thoughts


def test_a_right_answer_to_a_word_problem_is_computed_and_a_wrong_one_is_a_guess() -> None:
    environment = make_environment("metamathqa", most_steps=1)
    environment.reset(seed=3)
    answer = str(environment.solution()[0])  # type: ignore[index]
    thoughts = said("metamathqa", [answer], seed=3, most_steps=1)
    assert any(re.search(rf"\d+ [-+*/] \d+ = {answer}\b", one) for one in thoughts)
    assert all(one in ("maybe 1", "I guess 1") for one in said("metamathqa", ["1"], seed=3, most_steps=1))


def test_an_environment_without_thoughts_of_its_own_gets_plain_ones() -> None:
    assert "I try Observe" in said("spatial", ["Observe"])
