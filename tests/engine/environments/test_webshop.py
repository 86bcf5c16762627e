"""WebShop's pages, actions and episodes, on the shipped catalogue and on a small one of published files."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from pydantic import ValidationError

from engine.config import EnvironmentConfig
from engine.environments import make_environment
from engine.environments.checker import check_environment
from engine.environments.drawing_format import drawing_problem
from engine.environments.players import baseline
from engine.environments.problems import problem_id
from engine.environments.webshop.environment import WebShop, parse_action
from engine.environments.webshop.goals import Option
from engine.environments.webshop.shop import shop_at

PRODUCTS = 23
LAMP: dict[str, Any] = {
    "full_description": "A lamp for the desk.",
    "small_description": ["Dimmable light.", "Heavy base."],
    "pricing": "$20.00",
    "customization_options": {
        "color": [{"value": "Black"}, {"value": "Oak [dark]"}, {"value": "Natural"}],
        "base": [{"value": "Natural"}, {"value": "Description"}],
    },
    "category": "home",
    "query": "lamp",
    "product_category": "Home › Lighting › Lamps",
}
INSTRUCTION = "Find me a dimmable lamp"


@pytest.fixture
def directory(tmp_path: Path) -> str:
    """23 lamps, all but the first without a word of the first's name but lamp."""
    records = [{**LAMP, "asin": f"B{n:09}", "name": f"Lamp model{n}"} for n in range(PRODUCTS)]
    entry = {"attributes": ["dimmable"], "instruction": INSTRUCTION, "instruction_attributes": ["dimmable"]}
    # each with an instruction of its own, so that some are held out
    entries = {record["asin"]: {**entry, "instruction": f"{INSTRUCTION} {record['asin'][-2:]}"} for record in records}
    (tmp_path / "items_shuffle.json").write_text(json.dumps(records))
    (tmp_path / "items_ins_v2.json").write_text(json.dumps(entries))
    return str(tmp_path)


def shop(seed: int = 1, **parameters: Any) -> WebShop:
    environment = cast(WebShop, make_environment("webshop", **parameters))
    environment.reset(seed=seed)
    return environment


def play(environment: WebShop, *actions: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
    """The result of the last one; all must be valid."""
    for action in actions:
        result = environment.step(action)
        assert result[4]["action_is_valid"], action
    return result


def target(environment: WebShop) -> str:
    """The asin of the goal."""
    return environment.problem().split("\n")[0]


def page_of(environment: WebShop) -> str:
    return environment.render().split("\nLegal actions: ")[0]


# Pages and text


def test_the_first_page_is_the_instruction_and_the_search() -> None:
    environment = shop()
    _, text = environment.problem().split("\n")
    assert (
        environment.render()
        == f"WebShop [SEP] Instruction: [SEP] {text} [SEP] Search\nLegal actions: search[<keywords>]"
    )


def test_results_are_pages_of_products_with_asin_title_and_price(directory: str) -> None:
    environment = shop(directory=directory)
    text = environment.problem().split("\n")[1]
    start = f"Instruction: [SEP] {text} [SEP] Back to Search [SEP] "
    play(environment, "search[lamp model4]")
    assert page_of(environment).startswith(
        f"{start}Page 1 (Total results: 23) [SEP] Next > [SEP] B000000004 [SEP] Lamp model4 [SEP] $20.00 [SEP] B0"
    )
    assert page_of(environment).count("[SEP] Lamp model") == 10
    play(environment, "click[next >]")
    assert page_of(environment).startswith(f"{start}Page 2 (Total results: 23) [SEP] < Prev [SEP] Next > [SEP] B0")
    play(environment, "click[next >]")
    assert page_of(environment).count("[SEP] Lamp model") == 3
    assert "next >" not in environment.clicks
    play(environment, "click[< prev]")
    assert "Page 2 " in page_of(environment)


def test_a_search_without_results_can_only_go_back() -> None:
    environment = shop()
    play(environment, "search[qqqqq]")
    assert "Page 1 (Total results: 0)" in page_of(environment)
    assert environment.legal_actions() == ["click[back to search]"]
    assert environment.suggestions() == ["click[back to search]"]
    play(environment, "click[back to search]")
    assert environment.suggestions() == ["search[]"]


def test_a_search_shows_50_results_at_most() -> None:
    environment = shop()
    observation = play(environment, "search[classic essential premium]", *["click[next >]"] * 4)[0]
    assert "Page 5 (Total results: 50)" in observation
    assert "next >" not in environment.clicks


def test_an_item_lists_its_options_and_buttons(directory: str) -> None:
    environment = shop(directory=directory)
    text = environment.problem().split("\n")[1]
    play(environment, "search[model7]", "click[b000000007]")
    assert environment.render() == (
        f"Instruction: [SEP] {text} [SEP] Back to Search [SEP] < Prev [SEP] color [SEP] black [SEP] oak [dark] [SEP] "
        "natural [SEP] base [SEP] natural [SEP] description [SEP] Lamp model7 [SEP] Price: $20.00 [SEP] Rating: N.A. "
        "[SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now\n"
        "Legal actions: click[back to search], click[< prev], click[black], click[oak [dark]], click[color: natural], "
        "click[base: natural], click[base: description], click[description], click[features], click[reviews], "
        "click[buy now]"
    )


def test_sub_pages_show_their_text_and_lead_back_with_the_options_kept(directory: str) -> None:
    environment = shop(directory=directory)
    play(environment, "search[model7]", "click[b000000007]", "click[black]")
    for label, text in {
        "description": "A lamp for the desk.",
        "features": "Dimmable light. [SEP] Heavy base.",
        "reviews": "< Prev",
    }.items():
        observation = play(environment, f"click[{label}]")[0]
        assert observation.split("\n")[0].endswith(f"[SEP] {text}")
        assert environment.legal_actions() == ["click[back to search]", "click[< prev]"]
        assert "Chosen options: color: black" in play(environment, "click[< prev]")[0]


def test_attributes_have_a_page_only_if_they_are_to_be_shown(directory: str) -> None:
    hidden, shown = shop(directory=directory), shop(directory=directory, show_attributes=True)
    for environment in (hidden, shown):
        play(environment, "search[model7]", "click[b000000007]")
    assert not hidden.step("click[attributes]")[4]["action_is_valid"]
    assert "dimmable [SEP] home [SEP] lamp [SEP] Home › Lighting › Lamps" in play(shown, "click[attributes]")[0]


def test_going_back_forgets_the_options(directory: str) -> None:
    environment = shop(directory=directory)
    play(environment, "search[lamp]", "click[next >]")
    asin = next(element.label for element in environment.shown if element.kind == "product")
    observation = play(environment, f"click[{asin}]", "click[black]", "click[< prev]")[0]
    assert "Page 2 " in observation
    assert "Chosen" not in play(environment, f"click[{asin}]")[0]
    assert play(environment, "click[back to search]")[0].startswith("WebShop [SEP] Instruction:")


def test_an_option_replaces_another_of_its_group(directory: str) -> None:
    environment = shop(directory=directory)
    play(environment, "search[model7]", "click[b000000007]", "click[black]", "click[base: natural]")
    assert "Chosen options: color: black, base: natural\n" in environment.render()
    play(environment, "click[Oak [Dark]]")
    assert "Chosen options: base: natural, color: oak [dark]\n" in environment.render()
    again = play(environment, "click[oak [dark]]")[4]
    assert not again["action_is_effective"]


def test_text_rich_marks_what_can_be_clicked_and_what_was(directory: str) -> None:
    environment = shop(directory=directory, observation="text_rich", list_actions=False)
    assert environment.render().endswith("\n[button] Search [button_]")
    play(environment, "search[model7]", "click[b000000007]", "click[black]")
    assert environment.render().startswith("You have clicked black.\nInstruction:\n")
    assert "\n[clicked button] black [clicked button_]\n[button] oak [dark] [button_]\n" in environment.render()
    play(environment, "click[< prev]")
    assert "\n[clicked button] B000000007 [clicked button_]\nLamp model7\n$20.00" in environment.render()


def test_drawings_are_pages_in_the_viewers_format(directory: str) -> None:
    environment = shop(directory=directory)
    for action in ("search[model7]", "click[b000000007]", "click[black]", "click[features]", "click[< prev]"):
        play(environment, action)
        assert drawing_problem(environment.drawing()) == ""
    blocks = environment.drawing()["blocks"]
    assert {"kind": "button", "text": "black", "state": "chosen"} in blocks
    assert {"kind": "button", "text": "natural"} in blocks


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


def buy(environment: WebShop, asin: str, *options: Option) -> tuple[str, float, bool, bool, dict[str, Any]]:
    """Searches for the product's name, opens it, chooses the options, and buys."""
    play(environment, f"search[{environment.shop.by_asin[asin].name}]", f"click[{asin}]")
    for option in options:
        labels = dict(_options(environment))
        play(environment, f"click[{next(label for pair, label in labels.items() if option in (pair, pair[1]))}]")
    return play(environment, "click[buy now]")


def _options(environment: WebShop) -> Iterator[tuple[tuple[str, str], str]]:
    """Group and value of each option of the page that is not chosen, with its label."""
    for element in environment.shown:
        if element.kind == "option" and element.leads_to and not element.chosen:
            yield element.leads_to.options[-1], element.label


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
    with pytest.raises(ValidationError, match="is no directory of this machine"):
        make_environment("webshop", directory="/nowhere/at/all")
    with pytest.raises(ValidationError, match="the shipped catalogue has no such split"):
        make_environment("webshop", goal_split="published")


def _search_in_child(asins: list[str]) -> bool:
    return [product.asin for product in shop_at("", 0).search("herbal tea")] == asins


def test_a_forked_process_has_a_shop_of_its_own() -> None:
    asins = [product.asin for product in shop_at("", 0).search("herbal tea")]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_search_in_child, (asins,))
