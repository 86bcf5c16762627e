"""WebShop's score, with the cases of WebShop's own tests; numbers by hand in comments."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rapidfuzz.distance import Indel

from engine.environments.webshop.colours import COLOURS, normalise_colour, normalise_pair
from engine.environments.webshop.goals import Goal, Option
from engine.environments.webshop.products import Product
from engine.environments.webshop.reward import (
    matched_attributes,
    matched_options,
    score,
    score_type,
    token_set_ratio,
)
from engine.environments.webshop.text import nouns

PRODUCT = Product(
    asin="X1",
    name="Tea Tree Hand Soap",
    description="A mild bar with natural ingredients.",
    bullet_points=("Foams well.",),
    prices=(35.0,),
    price=35.0,
    options={"color": ("grey", "green"), "size": ("m", "xl")},
    attributes=("tea tree", "essential oils", "natural ingredients"),
    category="beauty",
    query="hand soap",
    product_category="Beauty › Bath › Soap",
    instruction="",
    instruction_attributes=(),
)
GOAL = Goal(
    asin="X1",
    text="",
    name=PRODUCT.name,
    query=PRODUCT.query,
    product_category=PRODUCT.product_category,
    attributes=PRODUCT.attributes,
    options=("grey", "XL"),
    price_upper=40.0,
)
CHOSEN = ("grey", "XL")


def test_the_product_of_the_goal_with_its_options_scores_1() -> None:
    assert score(PRODUCT, GOAL, CHOSEN).total == 1


def test_an_attribute_that_only_the_description_names_counts() -> None:
    # 1 of 3 attributes, by the text; both options; the price: (1 + 2 + 1) / 6
    bare = replace(PRODUCT, attributes=(), name="Soap")
    goal = replace(GOAL, name="Soap")
    assert score(bare, goal, CHOSEN).total == pytest.approx(4 / 6)


def test_a_goal_with_another_option_scores_less() -> None:
    # (1 + 2 + 1) / 7
    bare = replace(PRODUCT, attributes=(), name="Soap")
    goal = replace(GOAL, name="Soap", options=("grey", "XL", "pack of 2"))
    assert score(bare, goal, CHOSEN).total == pytest.approx(4 / 7)


def test_another_query_one_shared_category_and_a_title_score_of_15_percent_halve_it() -> None:
    # title: 3 of the goal's 20 nouns; half of 4/7
    wanted = "Soap Bar Box " + " ".join(f"word{'abcdefghijklmnopqrs'[i]}" for i in range(17))
    bare = replace(
        PRODUCT, attributes=(), name="Soap Bar Box", query="perfume", product_category="Beauty › Scents › Perfume"
    )
    goal = replace(GOAL, name=wanted, options=("grey", "XL", "pack of 2"))
    found = score(bare, goal, CHOSEN)
    assert found.type.title_score == pytest.approx(0.15)
    assert (found.type.query_match, found.type.category_match, found.type.factor) == (False, False, 0.5)
    assert found.total == pytest.approx(2 / 7)


def test_a_price_above_the_bound_loses_its_part() -> None:
    # (3 + 2 + 0) / 6
    assert score(replace(PRODUCT, price=40.01), GOAL, CHOSEN).total == pytest.approx(5 / 6)
    assert score(replace(PRODUCT, price=40.0), GOAL, CHOSEN).total == 1


@pytest.mark.parametrize(
    ("bought", "wanted", "expected"),
    [
        ("a › b › c", "a › b › c", True),
        ("b › c › a", "a › b › c", True),
        ("a › d › b", "a › b › c", True),
        ("a › a › b", "a › b › c", True),
        ("d › e › f", "a › b › c", False),
        ("a › a › d", "a › b › c", False),
    ],
)
def test_two_shared_categories_in_any_order_are_a_match(bought: str, wanted: str, expected: bool) -> None:
    product = replace(PRODUCT, product_category=bought)
    assert score_type(product, replace(GOAL, product_category=wanted)).category_match is expected


@pytest.mark.parametrize(
    ("bought", "wanted", "title_score", "factor"),
    [
        # nouns of the goal: mens, canvas, sneakers; the first two words of three are shared
        ("Mens Canvas Boots", "Mens Canvas Sneakers", 2 / 3, 1.0),
        # repeated nouns count in the denominator: {soap} of soap, soap, soap, dish
        ("Soap", "Soap Soap Soap Dish", 1 / 4, 1.0),
        # 1 of 11 is below 0.1, whatever the query and the categories
        ("Soap", "Soap b c d e f g h i j k", 1 / 10, 1.0),  # i is a stop word: 10 nouns
        ("Soap", "Soap b c d e f g h j k l", 1 / 11, 0.1),
        ("Tweezers with steel tips", "Cabinet knob", 0.0, 0.0),
        ("anything", "4 x 4, 12", 0 / 2, 0.0),  # x is the only noun, twice
        ("anything", "4.5 (12)", 0.2, 1.0),  # no nouns
    ],
)
def test_the_factor_of_titles_overrides_query_and_category(
    bought: str, wanted: str, title_score: float, factor: float
) -> None:
    found = score_type(replace(PRODUCT, name=bought), replace(GOAL, name=wanted))
    assert found.title_score == pytest.approx(title_score)
    assert (found.query_match, found.category_match, found.factor) == (True, True, factor)


def test_nouns_are_words_of_letters_without_stop_words_in_order() -> None:
    assert nouns("The 2-in-1 Soap for Hands, with Soap Dish B12") == ("soap", "hands", "soap", "dish")


def test_a_singular_attribute_matches_a_plural() -> None:
    wanted = ("tea tree", "essential oil", "natural ingredients")
    assert matched_attributes(PRODUCT, wanted) == 3


def test_attributes_of_another_kind_of_product_do_not_match() -> None:
    tea = replace(
        PRODUCT,
        attributes=("tea bag", "earl gray", "lipton"),
        name="Earl Gray Tea Bags",
        description="Black tea.",
        bullet_points=("25 bags",),
    )
    assert matched_attributes(tea, ("tea tree", "essential oils", "natural ingredients")) == 0


def test_bullet_points_and_title_are_read_in_lower_case() -> None:
    product = replace(PRODUCT, attributes=("DUMMY_ATTR",), bullet_points=("No Artificial", "Colors Added"))
    assert matched_attributes(product, ("artificial colors", "hand soap", "tea leaf")) == 2


@pytest.mark.parametrize(
    ("wanted", "chosen", "expected"),
    [
        (("powder snow",), ("cool powder snow",), 1),
        (("cool powder snow",), ("powder snow",), 1),
        (("dark blue",), ("sky blue",), 1),
        (("x-large",), ("medium",), 0),
        (("pack of 2",), (), 0),
        ((), ("grey",), 0),
        # pairs of synthetic goals take part with the name of their group
        ((("color", "black"),), ("black",), 1),
        ((("color", "dark blue"),), ("dark blue",), 1),
        ((("size", "8 ounce"),), ("8 ounce",), 1),
        ((("size", "8 ounce"),), ("12 ounce",), 0),
    ],
)
def test_goal_options_count_once_each(wanted: tuple[Option, ...], chosen: tuple[str, ...], expected: int) -> None:
    assert matched_options(replace(GOAL, options=wanted), chosen) == expected


def test_one_chosen_value_may_match_several_goal_options() -> None:
    assert matched_options(replace(GOAL, options=("light gray", "lightweight")), ("light",)) == 1  # gray comes first
    assert matched_options(replace(GOAL, options=("light", "lightweight")), ("light",)) == 2


@pytest.mark.parametrize(
    ("value", "colour"),
    [
        ("dark blue", "blue"),
        ("rose gold", "gold"),
        ("stainless steel", "steel"),
        ("lightweight", "light"),
        ("bluetooth", "blue"),
        ("textured", "red"),
        ("multi colored", "red"),
        ("standard", "tan"),
        ("important", "tan"),
        ("large", "large"),
        ("x-large", "x-large"),
        ("pack of 2", "pack of 2"),
    ],
)
def test_a_colour_word_anywhere_stands_for_the_whole_value(value: str, colour: str) -> None:
    assert normalise_colour(value) == colour


def test_a_pair_is_a_colour_only_as_a_whole() -> None:
    assert normalise_pair("color", "blue") == "blue"
    assert normalise_pair("color", "dark blue") == "color dark blue"


def test_the_colour_words_are_in_webshops_order() -> None:
    assert len(COLOURS) == 102
    assert list(COLOURS) == sorted(COLOURS)


def by_definition(text: str, other: str) -> int:
    """thefuzz: the best ratio among the common words alone and with the remaining words of either text."""
    one, two = set(text.split()), set(other.split())
    if not one or not two:
        return 0
    common = " ".join(sorted(one & two))
    full = [" ".join(filter(None, [common, " ".join(sorted(rest))])) for rest in (one - two, two - one)]
    pairs = [(full[0], full[1])] + ([(common, full[0]), (common, full[1])] if common else [])
    return max(round(100 * Indel.normalized_similarity(a, b)) for a, b in pairs)


@pytest.mark.parametrize("text", ["essential oils", "oil free", "tea tree", "powder snow", "x large", "8 ounce", ""])
@pytest.mark.parametrize("other", ["essential oil", "tree tea", "cool powder snow", "large", "8", "80 ounces", "free"])
def test_the_token_set_ratio_is_that_of_thefuzz(text: str, other: str) -> None:
    assert token_set_ratio(text, other) == by_definition(text, other)


def test_punctuation_case_and_accents_are_cleaned_as_in_thefuzz() -> None:
    assert token_set_ratio("Easy-to-Clean!", "easy to clean") == 100
    assert token_set_ratio("café", "caf") == 100  # characters 128 to 255 are dropped
    assert token_set_ratio("---", "---") == 0
