"""The catalogue of WebShop: the one that ships, the published formats, goals and splits."""

from __future__ import annotations

import gzip
import json
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.environments.webshop.generate import PRODUCTS, SEED, catalogue, write
from engine.environments.webshop.goals import (
    Goal,
    GoalKind,
    GoalList,
    Goals,
    HumanInstruction,
    human_instructions,
    price_bound,
)
from engine.environments.webshop.json_stream import JsonStream
from engine.environments.webshop.products import Product, one_price, parse_prices, product_from
from engine.environments.webshop.published import LARGEST_UNLIMITED, read_published
from engine.environments.webshop.reward import matched_options, score
from engine.environments.webshop.search_index import SearchIndex
from engine.environments.webshop.shop import SHIPPED, Shop, product_split, shop_at
from engine.environments.webshop.vocabulary import CATEGORIES, Category
from engine.errors import ConfigError

RECORD: dict[str, Any] = {
    "asin": "B000000001",
    "name": " Walnut Desk Lamp ",
    "full_description": "Warm light.",
    "small_description": ["Dimmable.", "With a switch."],
    "pricing": "$20.00$30.00",
    "customization_options": {"Color": [{"value": " Red/Blue "}, {"value": "Black"}], "Size": None},
    "images": ["https://example.com/1.jpg"],
    "category": "home",
    "query": " Desk Lamp ",
    "product_category": "Home › Lighting › Lamps",
}
ATTRIBUTES = {
    "attributes": ["dimmable", "warm light"],
    "instruction": "Find me a dimmable desk lamp",
    "instruction_attributes": ["dimmable"],
}

EMPTY_GOAL = Goal(asin="", text="", name="", query="", product_category="", attributes=(), options=(), price_upper=1.0)


def every(goals: GoalList) -> list[Goal]:
    return [goals[index] for index in range(len(goals))]


def shipped_goals(kind: GoalKind, split: Any) -> list[Goal]:
    return every(shop_at("", 0).goals(kind, "product", split))


# The catalogue that ships


def test_the_shipped_catalogue_is_what_its_generator_makes(tmp_path: Path) -> None:
    made = catalogue(PRODUCTS, SEED)
    with gzip.open(SHIPPED, "rt", encoding="utf-8") as file:
        assert json.load(file) == made
    write(tmp_path / "again", catalogue(40, SEED))
    write(tmp_path / "other", catalogue(40, SEED))
    assert (tmp_path / "again").read_bytes() == (tmp_path / "other").read_bytes()


def test_another_seed_is_another_catalogue() -> None:
    assert catalogue(1, SEED)["products"][0]["name"] != catalogue(1, SEED + 1)["products"][0]["name"]


def test_the_shipped_catalogue_is_small_and_varied() -> None:
    products = shop_at("", 0).products
    assert SHIPPED.stat().st_size < 1_500_000
    assert len({product.asin for product in products}) == len(products) == PRODUCTS
    assert len({" › ".join(product.product_category.split(" › ")[:2]) for product in products}) == 20
    assert len({product.query for product in products}) == 80
    assert {len(product.prices) for product in products} == {1, 2}
    assert {len(product.options) for product in products} == {0, 1, 2}
    assert any("[" in value for product in products for value in product.options.get("size", ()))


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_the_splits_share_neither_a_goal_nor_the_product_of_one(kind: GoalKind) -> None:
    train, held_out = shipped_goals(kind, "train"), shipped_goals(kind, "held_out")
    assert len(train) > 2 * len(held_out) > 1000
    assert {goal.text for goal in train} & {goal.text for goal in held_out} == set()
    assert {goal.asin for goal in train} & {goal.asin for goal in held_out} == set()


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_buying_the_product_of_a_goal_with_its_options_always_scores_1(kind: GoalKind) -> None:
    by_asin = shop_at("", 0).by_asin
    for goal in [*shipped_goals(kind, "train")[::23], *shipped_goals(kind, "held_out")[::23]]:
        values = [one if isinstance(one, str) else one[1] for one in goal.options]
        assert set(values) <= {value for group in by_asin[goal.asin].options.values() for value in group}
        assert score(by_asin[goal.asin], goal, values).total == 1, goal.text


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda category: category.path)
def test_the_reward_distinguishes_all_option_values_of_a_product(category: Category) -> None:
    pairs = [(group, value) for group, values in category.options.items() for value in values]
    for wanted in pairs:
        for bought in pairs:
            for option in (wanted, wanted[1]):
                goal = replace(EMPTY_GOAL, options=(option,))
                assert matched_options(goal, [bought[1]]) == (wanted == bought), (wanted, bought)


def test_instructions_name_what_they_are_scored_by() -> None:
    for goal in shipped_goals("human", "train")[::5]:
        text = goal.text.lower()
        assert goal.query in text
        assert all(attribute in text for attribute in goal.attributes)
        assert all(str(option) in text for option in goal.options)
        assert text.endswith(f", and price lower than {goal.price_upper:.2f} dollars")


# Records


def test_a_record_becomes_a_product() -> None:
    product = product_from(RECORD, ATTRIBUTES)
    assert (product.name, product.query) == ("Walnut Desk Lamp", "desk lamp")
    assert product.options == {"color": ("red | blue", "black")}
    assert (product.prices, product.price_label) == ((20.0, 30.0), "$20.00 to $30.00")
    assert 20 <= product.price <= 30
    assert product.document == "walnut desk lamp warm light. dimmable. color: red | blue, black"


def test_a_record_with_little_in_it_is_still_a_product() -> None:
    product = product_from({"asin": "B1", "name": "Lamp", "small_description": "Bright."}, {})
    assert product.bullet_points == ("Bright.",)
    assert product.attributes == ("DUMMY_ATTR",)
    assert (product.price, product.options) == (100.0, {})
    assert len(Goals([product], "synthetic", {})) == 0


@pytest.mark.parametrize(
    ("pricing", "expected"),
    [
        ("$12.99", (12.99,)),
        ("$5.00$9.99", (5.0, 9.99)),
        ("$1$2$3", (1.0, 2.0)),
        ("$1,299.50", (1299.5,)),
        ("", (100.0,)),
        (None, (100.0,)),
        ("unavailable", (100.0,)),
    ],
)
def test_prices_are_read_off_their_text(pricing: str | None, expected: tuple[float, ...]) -> None:
    assert parse_prices(pricing) == expected


def test_the_price_of_a_range_depends_on_the_product_alone() -> None:
    assert one_price("B1", (20.0, 30.0)) == one_price("B1", (20.0, 30.0)) != one_price("B2", (20.0, 30.0))
    assert 20 <= one_price("B1", (30.0, 20.0)) <= 30


# Goals


def test_synthetic_goals_are_the_combinations_of_option_values() -> None:
    product = replace(
        product_from(RECORD, ATTRIBUTES), options={"size": ("s", "m", "l"), "color": ("red", "blue")}, price=95.0
    )
    goals = every(Goals([product, product], "synthetic", {}))
    assert len(goals) == 12  # 2 x 3, of two products
    assert goals[:6] == goals[6:]
    assert [goal.options for goal in goals[:4]] == [
        (("color", "red"), ("size", "s")),
        (("color", "red"), ("size", "m")),
        (("color", "red"), ("size", "l")),
        (("color", "blue"), ("size", "s")),
    ]
    clause = f", and price lower than {goals[0].price_upper:.2f} dollars"
    assert goals[0].text == f"Find me a dimmable desk lamp with color: red, and size: s{clause}"


def test_human_goals_drop_the_final_stop_and_need_attributes() -> None:
    product = replace(product_from(RECORD, ATTRIBUTES), price=995.0)
    entry = {"instruction": "i want a lamp.", "instruction_attributes": ["dimmable"], "instruction_options": ["red"]}
    human = human_instructions({"B000000001": [{**entry, "instruction_attributes": []}, entry]})
    assert human == {"B000000001": [HumanInstruction("i want a lamp.", ("dimmable",), ("red",))]}
    (goal,) = every(Goals([product], "human", human))
    assert (goal.text, goal.options, goal.price_upper) == ("i want a lamp", ("red",), 1_000_000)


@pytest.mark.parametrize(
    ("price", "bounds"),
    [
        (35.0, {50, 60, 70}),  # of 40, 50, 60, 70 the larger of two
        (40.0, {60, 70, 80}),  # above the price, not at it
        (965.0, {980, 990}),  # of 970, 980, 990
        (975.0, {990}),
        (985.0, {1_000_000}),  # 990 alone is not two
    ],
)
def test_the_bound_is_the_larger_of_two_of_the_next_four_tens(price: float, bounds: set[int]) -> None:
    products = [replace(product_from(RECORD, ATTRIBUTES), asin=f"B{i}", price=price) for i in range(60)]
    assert {price_bound(product, 0)[0] for product in products} == bounds
    assert [price_bound(product, 0) for product in products] == [price_bound(product, 0) for product in products]


# The published files


def publish(directory: Path, records: list[dict[str, Any]], human: dict[str, Any], *, suffix: str = "") -> None:
    attributes = {record["asin"]: ATTRIBUTES for record in records}
    for name, content in (
        (f"items_shuffle{suffix}.json", records),
        (f"items_ins_v2{suffix}.json", attributes),
        ("items_human_ins.json", human),
    ):
        (directory / name).write_text(json.dumps(content), encoding="utf-8")


def numbered(count: int) -> list[dict[str, Any]]:
    return [{**RECORD, "asin": f"B{number:09}"} for number in range(count)]


def test_published_files_are_read_and_bad_records_dropped(tmp_path: Path) -> None:
    records = [*numbered(2), {**RECORD, "asin": "nan"}, {**RECORD, "asin": "B" * 11}, *numbered(1), *numbered(4)[3:]]
    human = {
        asin: [{"instruction": "a lamp", "instruction_attributes": ["dimmable"], "instruction_options": ["black"]}]
        for asin in ("B000000001", "B000000009")
    }
    publish(tmp_path, records, human, suffix="_1000")
    products, instructions = read_published(tmp_path, 0)
    assert [product.asin for product in products] == ["B000000000", "B000000001", "B000000003"]
    assert list(instructions) == ["B000000001"]
    # num_products counts records, also those that are dropped
    assert len(read_published(tmp_path, 3)[0]) == 2


def test_a_catalogue_too_large_for_memory_needs_a_number_of_products(tmp_path: Path) -> None:
    publish(tmp_path, numbered(3), {})
    with (tmp_path / "items_shuffle.json").open("r+b") as file:
        file.truncate(LARGEST_UNLIMITED + 1)  # sparse
    with pytest.raises(ConfigError, match="Set num_products"):
        read_published(tmp_path, 0)
    assert len(read_published(tmp_path, 3)[0]) == 3


@pytest.mark.parametrize("content", ["", "{}", "[1, 2]", '[{"asin": "B1"}]', '[{"asin": "B1", "name": "La'])
def test_damaged_files_are_named(tmp_path: Path, content: str) -> None:
    publish(tmp_path, numbered(1), {})
    (tmp_path / "items_shuffle.json").write_text(content)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_published(tmp_path, 0)


def test_a_directory_without_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no items_shuffle\.json or items_shuffle_1000\.json"):
        shop_at(str(tmp_path), 0)


def test_the_published_split_is_that_of_webshops_shuffled_goals(tmp_path: Path) -> None:
    publish(tmp_path, numbered(900), {})  # 2 goals each
    shop = shop_at(str(tmp_path), 0)
    order = [f"B{number // 2:09} {number % 2}" for number in range(1800)]
    random.Random(233).shuffle(order)

    def listed(split: Any) -> list[str]:
        goals = every(shop.goals("synthetic", "published", split))
        return [f"{goal.asin} {int(goal.options == (('color', 'black'),))}" for goal in goals]

    assert listed("held_out") == order[:500]
    assert listed("train") == order[1500:]


def test_the_published_split_of_too_few_goals_is_refused(tmp_path: Path) -> None:
    publish(tmp_path, numbered(750), {})
    with pytest.raises(ConfigError, match="There are 1500 synthetic goals"):
        shop_at(str(tmp_path), 0).goals("synthetic", "published", "train")


def test_a_split_without_goals_is_named() -> None:
    alone = next(product for product in shop_at("", 0).products if product_split(product) == "train")
    with pytest.raises(ConfigError, match="no synthetic goals for held-out episodes"):
        Shop([alone], {}).goals("synthetic", "product", "held_out")


@pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
def test_json_is_read_in_chunks_of_any_size(tmp_path: Path, chunk: int) -> None:
    elements = [{"a": [1, "]},{"]}, [], 'é\\"', {"b": None}]
    path = tmp_path / "file.json"
    path.write_text(json.dumps(elements, indent=1), encoding="utf-8")
    assert list(JsonStream(path, chunk=chunk).elements()) == elements
    entries = {"x": {"y": ["}"]}, "z": []}
    path.write_text(json.dumps(entries), encoding="utf-8")
    assert dict(JsonStream(path, chunk=chunk).items()) == entries


# Search


def test_search_ranks_by_the_words_it_shares_and_stems_them() -> None:
    index = SearchIndex(["red running shoes", "blue shoe", "green tea", "running late"])
    assert index.search("Shoes", 50) == [1, 0]  # the shorter document first
    assert index.search("runs shoe", 50)[0] == 0
    assert index.search("red OR tea", 1) == [0] or index.search("red OR tea", 1) == [2]
    assert index.search("the", 50) == []


@pytest.mark.parametrize(
    "query", ['"', "a AND (", "tea*", "NEAR(x y)", "^text:", "-", "", "\x00", "\ud800", "x" * 9999]
)
def test_no_query_is_an_error(query: str) -> None:
    assert SearchIndex(["green tea"]).search(query, 50) in ([], [0])


def test_threads_share_a_shop() -> None:
    shop = shop_at("", 0)
    queries = [f"{product.query} {product.attributes[0]}" for product in shop.products[:80]]
    alone = [[product.asin for product in Shop(shop.products, {}).search(query)] for query in queries[:8]]
    fresh = Shop(shop.products, {})
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: [product.asin for product in fresh.search(query)], queries * 4))
    assert found[:8] == alone
    assert found == found[:80] * 4
    assert all(0 < len(hits) <= 50 for hits in found)


def test_a_shop_is_built_once_and_kept_while_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, numbered(10), {})
    two, three = shop_at(str(tmp_path), 2), shop_at(str(tmp_path), 3)
    assert shop_at(str(tmp_path), 2) is two
    monkeypatch.setattr("engine.environments.webshop.shop.MOST_PRODUCTS", 8)
    five = shop_at(str(tmp_path), 5)  # 2 + 3 + 5 products; the three were used before the two
    assert shop_at(str(tmp_path), 2) is two
    assert shop_at(str(tmp_path), 5) is five
    assert shop_at(str(tmp_path), 3) is not three
    nine = shop_at(str(tmp_path), 9)  # more than there is room for
    assert shop_at(str(tmp_path), 9) is nine


def test_products_are_hashed_into_splits_evenly() -> None:
    products: list[Product] = list(shop_at("", 0).products)
    share = sum(product_split(product) == "held_out" for product in products) / len(products)
    assert share == pytest.approx(0.2, abs=0.03)
