"""What WebShop's pages show and offer, on the shipped catalogue and on a small one of published files."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.environments.drawing_format import drawing_problem
from engine.environments.webshop.environment import WebShop
from tests.engine.environments.small_shop import play, shop, write_lamps


@pytest.fixture
def directory(tmp_path: Path) -> str:
    return write_lamps(tmp_path)


def page_of(environment: WebShop) -> str:
    return environment.render().split("\nLegal actions: ")[0]


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


def test_the_drawing_of_the_first_page_names_the_shop_once() -> None:
    environment = shop()
    drawing = environment.drawing()
    _, text = environment.problem().split("\n")
    assert drawing["title"] == "WebShop"
    assert [block["text"] for block in drawing["blocks"]] == ["Instruction:", text, "Search"]
