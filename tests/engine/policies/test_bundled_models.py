"""The models that ship: their paths, their size, their cards, and the scripted play that they imitated."""

from __future__ import annotations

import re
import tempfile
from functools import lru_cache
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from engine.config import EnvironmentConfig
from engine.environments.registry import environment_of, make_environment
from engine.errors import ModelError
from engine.models.tiny import imitation_data
from engine.models.tiny.arithmetic_thoughts import worked
from engine.models.tiny.build import learn_tokenizer, new_model
from engine.models.tiny.named_choices import NamedChoices
from engine.models.tiny.recipes import ARITHMETIC, RECIPES, Recipe
from engine.models.tiny.thoughts import thought
from engine.policies.loading import load_model, load_tokenizer
from engine.policies.model_paths import BUNDLED, check_model_path
from engine.rollout.context_manager import ContextManager
from engine.rollout.prompts import system_prompt
from engine.rollout.types import Trajectory

MOST_BYTES = 3_000_000
PROMPT_TOKENS = [recipe for recipe in RECIPES.values() if recipe.prompt_tokens]
SUM = re.compile(r"(\d+) ([+-]) (\d+) ([+-]) (\d+) = (-?\d+) (yes|no)")


@lru_cache(maxsize=2)
def played(name: str) -> list[Trajectory]:
    context = ContextManager(load_tokenizer(name), think=True)
    return imitation_data.play(context, RECIPES[name], episodes=100, seed=2)


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
    assert 500_000 < model.num_parameters() < 1_500_000
    assert (BUNDLED[name] / "model.safetensors").stat().st_size < MOST_BYTES
    assert words.decode(words.encode("Make 24 of 3 8", add_special_tokens=False)) == "Make 24 of 3 8"


def test_no_progress_bar_fills_the_log_of_a_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model, _ = load_model("tiny")
    model.save_pretrained(tmp_path)
    assert "it/s" not in capfd.readouterr().err


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
        assert re.search(r"\| [01]\.\d{3} \| [01]\.\d{3} to [01]\.\d{3} \|", row)


def test_a_name_that_is_no_bundled_model_is_not_taken_for_one() -> None:
    with pytest.raises(ModelError, match="does not exist"):
        check_model_path("./tiny-boards")


@pytest.mark.parametrize("recipe", PROMPT_TOKENS, ids=lambda recipe: recipe.name)
def test_a_digit_or_what_the_recipe_says_and_a_line_of_a_system_prompt_are_one_token_each(recipe: Recipe) -> None:
    words = load_tokenizer(recipe.name)
    digits = (
        [" 3", "0", "5"]
        if " 3" in recipe.phrases
        else [" ", "305"]
        if "305" in recipe.phrases
        else [" ", "3", "0", "5"]
    )
    assert [words.decode([one]) for one in words.encode(" 305\n", add_special_tokens=False)] == [*digits, "\n"]
    for component in recipe.mix:
        config = EnvironmentConfig.model_validate(component.config)
        prompt = system_prompt(config, environment_of(config), think=True)
        line_ends = prompt.count("\n")
        assert len(words.encode(prompt, add_special_tokens=False)) == 2 * line_ends + 1


@pytest.mark.parametrize("recipe", PROMPT_TOKENS, ids=lambda recipe: recipe.name)
def test_scripted_players_write_well_formed_responses_and_often_succeed(recipe: Recipe) -> None:
    episodes = played(recipe.name)
    assert {one.kind for one in episodes} == {component.config["kind"] for component in recipe.mix}
    assert {turn.parsed.case for one in episodes for turn in one.turns} == {"ok"}
    assert not any(one.stop in ("fault", "context_full") for one in episodes)
    assert np.mean([one.success for one in episodes]) > (0.4 if recipe.random_share == 1 else 0.5)


def test_some_of_their_moves_are_random() -> None:
    assert not all(one.success for one in played(ARITHMETIC.name))


def test_the_same_seed_gives_the_same_play() -> None:
    context = ContextManager(load_tokenizer(ARITHMETIC.name), think=True)
    again = imitation_data.play(context, ARITHMETIC, episodes=100, seed=2)
    assert [one.ids for one in again] == [one.ids for one in played(ARITHMETIC.name)]


def test_a_thought_about_countdown_has_true_sums_and_a_verdict_for_each() -> None:
    """Seed 0 of these parameters: 6 7 2, to make 11. 6 - 2 + 7 = 11."""
    problem = {"fewest_numbers": 3, "most_numbers": 3, "largest_number": 9, "largest_target": 27}
    thoughts = said("countdown", ["6 - 2 + 7"], seed=0, **problem)
    assert all(one.endswith("6 - 2 + 7 = 11 yes") for one in thoughts)
    sums = [SUM.findall(one) for one in thoughts]
    assert {len(found) for found in sums} == {1, 2}
    for a, first, b, second, c, value, verdict in chain.from_iterable(sums):
        total = int(a) + (int(b) if first == "+" else -int(b)) + (int(c) if second == "+" else -int(c))
        assert (total, verdict) == (int(value), "yes" if total == 11 else "no")


def test_a_thought_about_sudoku_lists_the_row_of_its_cell() -> None:
    """Seed 1: the first row is 4 . 3 . before it is filled."""
    assert set(said("sudoku", ["(1,2,2)"], empty_cells=3)) == {"row 1 column 2 has 4 3 so 2"}


def test_a_right_answer_to_a_question_is_computed_and_a_wrong_one_is_a_guess() -> None:
    """Seed 0: 93 + 33, and A is 126."""
    assert set(said("static", ["A"], seed=0, topic="arithmetic")) == {
        "93 + 3 = 96 96 + 30 = 126 so A",
        "93 + 3 = 96 96 + 30 = 126",
    }
    assert "93 + 3 = 96 96 + 30 = 126 so 126" in said("static", ["126"], seed=0, topic="arithmetic")
    assert set(said("static", ["B"], seed=0, topic="arithmetic")) == {"maybe B", "I guess B"}


def test_a_player_of_named_choices_answers_with_a_choice_and_not_with_its_letter() -> None:
    questions = NamedChoices(NamedChoices.Config(topic="arithmetic", generate_up_to=60))
    for seed in range(20):
        questions.reset(seed=seed)
        assert questions.random_action(np.random.default_rng(seed)) in questions.question.choices
        answer = questions.solution()
        assert isinstance(answer, list) and answer[0] in questions.question.choices
        assert questions.step(answer[0])[1] == 1.0


def test_a_right_answer_to_a_word_problem_is_computed_and_a_wrong_one_is_a_guess() -> None:
    """Seed 3: 11 children divide 198 pencils equally."""
    assert set(said("metamathqa", ["18"], seed=3, most_steps=1)) == {
        "198 / 11 198 / 11 = 18",
        "198 / 11 198 / 11 = 18 so 18",
    }
    assert set(said("metamathqa", ["9"], seed=3, most_steps=1)) == {"maybe 9", "I guess 9"}


def test_a_right_answer_that_takes_several_steps_is_given_without_them() -> None:
    """Each of 200 problems of up to four steps, most of them of more than one."""
    for seed in range(200):
        environment = make_environment("metamathqa")
        environment.reset(seed=seed)
        answer = environment.question.answer  # type: ignore[attr-defined]
        assert answer in thought(environment, [answer], np.random.default_rng(seed))


def test_a_bandits_thought_says_what_the_names_suggest_whichever_is_chosen() -> None:
    for split in ("train", "test"):
        bandit = make_environment("bandit", split=split)
        bandit.reset(seed=1)
        safe, risky = bandit.name_of(1 - bandit.risky), bandit.name_of(bandit.risky)
        for plan in (safe, risky):
            thoughts = said("bandit", [plan], split=split)
            assert f"{safe} sounds safe and {risky} sounds risky I take {plan}" in thoughts


def test_the_tokenizer_that_is_trained_splits_text_as_the_one_that_is_loaded() -> None:
    text = "Grid 3 4 .\n_ P O\n(1,22,3) it's 305 * 7 || Go\u0301 <answer>x</answer>"
    mix = ARITHMETIC.mix[:1]
    recipe = Recipe(name="x", title="x", imitated="x", mix=mix, measured=(), split_lines=True)
    trained = learn_tokenizer(5, recipe, episodes=200)
    with tempfile.TemporaryDirectory() as directory:
        trained.save_pretrained(directory)
        new_model(trained).config.save_pretrained(directory)
        loaded = load_tokenizer(directory)
    assert type(loaded) is not type(trained)
    assert not [token for token in loaded.get_vocab() if "\u010a" in token and token != "\u010a"]
    assert loaded.encode(text) == trained.encode(text)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("52 + 17", ["52 + 7 = 59", "59 + 10 = 69"]),
        ("84 - 57", ["84 - 7 = 77", "77 - 50 = 27"]),
        ("5 + 37", ["5 + 37 = 42"]),
        ("53 * 3", ["3 * 50 = 150", "3 * 3 = 9", "150 + 9 = 159"]),
        ("13 * 12", ["13 * 10 = 130", "13 * 2 = 26", "130 + 26 = 156"]),
        ("95 / 5", ["95 / 5 = 19"]),
        ("(3 + 12) * 2", ["3 + 12 = 15", "2 * 10 = 20", "2 * 5 = 10", "20 + 10 = 30"]),
        ("87 - 6 * 9", ["6 * 9 = 54", "87 - 4 = 83", "83 - 50 = 33"]),
    ],
)
def test_a_sum_is_worked_in_steps_of_tens_and_units(text: str, steps: list[str]) -> None:
    assert worked(text) == steps


def test_an_environment_without_thoughts_of_its_own_gets_plain_ones() -> None:
    assert "I try Observe" in said("spatial", ["Observe"])
