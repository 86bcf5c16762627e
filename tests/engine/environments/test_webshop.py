"""WebShop's actions, purchases and episodes, on the shipped catalogue and on a small one of published files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from engine.config import EnvironmentConfig
from engine.environments import make_environment
from engine.environments.checker import check_environment
from engine.environments.players import baseline
from engine.environments.problems import problem_id
from engine.environments.webshop.environment import parse_action
from tests.engine.environments.small_shop import buy, play, shop, target, write_lamps


@pytest.fixture
def directory(tmp_path: Path) -> str:
    return write_lamps(tmp_path)


# Actions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("search[Red  Shoes]", ("search", "red shoes")),
        (" Click[< Prev] ", ("click", "< prev")),
        ("click [buy now]", ("click", "buy now")),
        ("click[size [XL]]", ("click", "size [xl]")),
        ("click[]", ("click", "")),
        ("click[a] now", ("", "")),
        ("click(a)", ("", "")),
        ("", ("", "")),
        ("[", ("", "")),
    ],
)
def test_actions_are_a_name_and_the_text_in_its_outer_brackets(text: str, expected: tuple[str, str]) -> None:
    assert parse_action(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "buy",
        "search[]",
        "search[ ]",
        "click[search]",
        "click[buy now]",
        "click[next >]",
        "open[x]",
        "search[x",
        "\ud800[",
    ],
)
def test_what_means_nothing_on_a_page_changes_nothing(text: str) -> None:
    environment = shop()
    before = environment.render()
    observation, reward, terminated, truncated, info = environment.step(text)
    assert (observation, reward, terminated, truncated) == (before, 0.0, False, False)
    assert (info["action_is_valid"], info["action_is_effective"], info["success"]) == (False, False, False)


def test_search_is_for_the_search_page_unless_it_works_anywhere() -> None:
    strict, free = shop(), shop(search_anywhere=True)
    for environment in (strict, free):
        play(environment, "search[shoes]")
    assert not strict.step("search[tea]")[4]["action_is_valid"]
    assert "search[<keywords>]" not in strict.legal_actions()
    play(free, "search[tea]")
    assert free.page.keywords == "tea"
    assert "search[<keywords>]" in free.legal_actions()


def test_a_value_with_several_spaces_can_be_written_with_one_each(directory: str) -> None:
    catalogue = Path(directory, "items_shuffle.json")
    catalogue.write_text(catalogue.read_text().replace('"Black"', '"Black  /White"'))
    environment = shop(directory=directory)
    play(environment, "search[model7]", "click[b000000007]", "click[black | white]")
    assert environment.page.options == (("color", "black   | white"),)


def test_everything_a_page_lists_is_valid(directory: str) -> None:
    rng = np.random.default_rng(3)
    for parameters in ({}, {"directory": directory}, {"search_anywhere": True, "show_attributes": True}):
        environment = shop(**parameters)
        for _ in range(60):
            result = play(environment, environment.random_action(rng))
            if result[2]:
                environment.reset(seed=int(rng.integers(1000)))


def test_every_variant_keeps_the_contract(directory: str) -> None:
    assert check_environment("webshop", {"observation": "text_rich", "show_attributes": True}, seeds=range(3)) == []
    assert check_environment("webshop", {"directory": directory, "search_anywhere": True}, seeds=range(3)) == []


# Purchases


def test_buying_what_was_asked_for_earns_1_and_ends_the_episode(directory: str) -> None:
    environment = shop(directory=directory)
    _, reward, terminated, truncated, info = buy(environment, target(environment), *environment.goal.options)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info == {
        "action_is_valid": True,
        "action_is_effective": True,
        "success": True,
        "raw_reward": 1.0,
        "purchased": 1.0,
        "found": 1.0,
        "type_score": 1.0,
        "attribute_score": 1.0,
        "option_score": 1.0,
        "price_score": 1.0,
    }
    with pytest.raises(RuntimeError, match="call reset"):
        environment.step("click[back to search]")


def test_a_purchase_without_its_options_earns_nothing_or_its_share(directory: str) -> None:
    # of one attribute, two options and the price, the attribute and the price: 2 / 4
    for kind, expected in (("binary", 0.0), ("graded", 0.5)):
        environment = shop(directory=directory, reward=kind)
        observation, reward, terminated, _, info = buy(environment, target(environment))
        assert (reward, terminated, info["success"]) == (expected, True, False)
        assert (info["raw_reward"], info["option_score"], info["purchased"]) == (0.5, 0.0, 1.0)
        assert observation.endswith("Your score: 0.50")


def test_the_last_page_shows_the_purchase_and_nothing_of_the_goal() -> None:
    environment = shop()
    other = next(product.asin for product in environment.shop.products if product.asin != target(environment))
    observation, *_, info = buy(environment, other)
    goal = environment.goal
    assert observation.startswith("Thank you for shopping with us! [SEP] You bought ")
    assert all(part not in observation for part in (goal.asin, goal.text, goal.name, "Instruction", "Legal actions"))
    assert info["found"] == 0.0


def test_found_means_that_the_goals_product_was_opened(directory: str) -> None:
    environment = shop(directory=directory)
    asin = target(environment)
    name = environment.shop.by_asin[asin].name
    assert play(environment, f"search[{name}]")[4]["found"] == 0.0
    assert play(environment, f"click[{asin.lower()}]")[4]["found"] == 1.0
    assert play(environment, "click[back to search]")[4]["found"] == 1.0


# Episodes


def test_seeds_draw_goals_of_the_split_that_is_asked_for(directory: str) -> None:
    environment = shop()
    seen: dict[str, set[str]] = {"train": set(), "held_out": set()}
    for split, problems in seen.items():
        for seed in range(150):
            environment.reset(seed=seed, options={"split": split})
            problems.add(environment.problem())
    assert len(seen["train"]) > 140
    assert seen["train"] & seen["held_out"] == set()
    assert {text.split("\n")[0] for text in seen["train"]} & {text.split("\n")[0] for text in seen["held_out"]} == set()


def test_a_problem_is_its_goal_whatever_the_text_of_the_pages() -> None:
    assert problem_id(shop(seed=5)) == problem_id(shop(seed=5, observation="text_rich", list_actions=False))
    assert problem_id(shop(seed=5)) != problem_id(shop(seed=6))


@pytest.mark.parametrize("goals", ["synthetic", "human"])
def test_every_goal_can_be_met_within_the_budget(goals: str) -> None:
    environment = shop(goals=goals)
    for seed in range(60):
        environment.reset(seed=seed)
        _, reward, *_ = buy(environment, target(environment), *environment.goal.options)
        assert reward == 1.0
        # a search, a product, its options, the purchase
        assert 3 + len(environment.goal.options) <= environment.default_budget["max_turns"]


def test_the_scripted_player_buys_and_beats_the_random_one() -> None:
    config = EnvironmentConfig.model_validate({"kind": "webshop", "parameters": {"reward": "graded"}})
    rule = baseline(config, "scripted", episodes=60)
    chance = baseline(config, "random", episodes=60)
    assert rule.success > 0.35
    assert rule.mean_return > 0.7
    assert chance.success < 0.1
    assert chance.mean_return < 0.3


def test_the_scripted_player_tries_other_words_where_nothing_is_found(directory: str) -> None:
    environment = shop(directory=directory)
    rng = np.random.default_rng(0)
    first = environment.scripted_action(rng)
    assert first.startswith("search[find dimmable lamp")
    play(environment, "search[qqqqq]")
    assert environment.scripted_action(rng) == "click[back to search]"
    play(environment, "click[back to search]")
    assert environment.scripted_action(rng).startswith("search[dimmable lamp")


def test_fewer_products_and_shorter_pages_make_a_smaller_shop() -> None:
    small = shop(num_products=100, results_per_page=4)
    observation = play(small, "search[classic]")[0]
    assert len(small.shop.products) == 100
    assert len([element for element in small.shown if element.kind == "product"]) == 4
    assert len(observation) < 1000


def test_a_directory_that_is_none_and_a_split_that_ships_not_are_refused() -> None:
    with pytest.raises(ValidationError, match="is not a directory on this machine"):
        make_environment("webshop", directory="/nowhere/at/all")
    with pytest.raises(ValidationError, match="the shipped catalogue has no such split"):
        make_environment("webshop", goal_split="published")


FORKED = """
import os
from engine.environments.webshop.shop import shop_at

def found() -> list[str]:
    return [product.asin for product in shop_at("", 0).search("herbal tea")]

before = found()
child = os.fork()
if child == 0:
    os._exit(0 if found() == before else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_has_a_shop_of_its_own() -> None:
    # in a process without threads: a fork of the tests' own could wait for a lock that one of its threads held
    assert subprocess.run([sys.executable, "-c", FORKED], timeout=60, check=False).returncode == 0
