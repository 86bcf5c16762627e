"""The transcript of a trajectory in a browser: every turn on one page, and finding text in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from tests.e2e.open_site import needs_chromium, open_site
from webapp.trajectories import services
from webapp.trajectories.models import Trajectory

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

HIGHLIGHTED = "name => [...(CSS.highlights.get(name) ?? [])].map(range => [range.startOffset, range.endOffset])"
HOSTILE = "<b id=injected>x</b> the end \u202e"


@pytest.fixture
def row(transactional_db: None, settings: Settings, tmp_path: Path) -> Trajectory:
    """One with three turns or more."""
    settings.RUNS_DIR = str(tmp_path / "runs")
    run = build_run()
    rows = record_steps(run, run.parsed_config().environments[0], steps=range(1, 2), skill=0.1, faults=0.0)
    return max(rows[:-1], key=lambda one: one.turns)


@pytest.fixture
def record(row: Trajectory, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """With a word that only the first and the third thought have, and markup in the third."""
    whole = services.record(row)
    whole["turns"][0]["thought"] = "Is a Lighthouse near?"
    whole["turns"][2]["thought"] = f"{HOSTILE} a lighthouse or two\nlighthouses"
    monkeypatch.setattr(services, "checked_text", lambda _: json.dumps(whole).encode())
    return whole


@pytest.fixture
def page(row: Trajectory, record: dict[str, Any], settings: Settings) -> Iterator[Page]:
    with open_site(settings) as opened:
        yield opened


def path_of(row: Trajectory) -> str:
    return f"/runs/{row.run_id}/trajectories/{row.pk}/"


def test_every_message_thought_and_action_is_on_the_page_in_order(
    page: Page, row: Trajectory, record: dict[str, Any]
) -> None:
    page.goto(path_of(row))
    page.click("[data-view=transcript]")
    turns = page.locator(".transcript-turn")
    expect(turns).to_have_count(row.turns)
    expect(page.locator("#reader-body")).to_be_hidden()
    for index, turn in enumerate(record["turns"]):
        given = [message["content"] for message in (turn["messages"] if index == 0 else turn["messages"][-1:])]
        shown = turns.nth(index).locator(".message-role + pre").all_text_contents()
        assert shown == given
        assert turns.nth(index).locator(".turn-actions b").all_text_contents() == turn["executed"]
        expect(turns.nth(index)).to_contain_text(f"return to go {turn['return_to_go']:+.2f}".replace("+0.00", "0.00"))
    last = turns.last.locator(".transcript-state").nth(1).locator("pre")
    assert last.text_content() == record["turns"][-1]["frames"][-1]["observation"]  # no later message has it
    assert page.evaluate("find('a lighthouse or two')")  # the browser's own search


def test_states_stand_beside_what_answers_them_and_below_each_other_on_a_phone(page: Page, row: Trajectory) -> None:
    page.goto(f"{path_of(row)}#view=transcript")
    expect(page.locator(".transcript-turn")).to_have_count(row.turns)
    boxes = "selector => [...document.querySelectorAll(selector)].map(one => one.getBoundingClientRect().toJSON())"
    for selector in (".transcript-turn:first-child .turn-part", "#reader-body > .panel"):
        if selector.startswith("#reader-body"):
            page.click("[data-view=turn]")
        seen, response, after, outcome = page.evaluate(boxes, selector)[:4]
        assert seen["y"] == response["y"] and after["y"] == outcome["y"]
        assert seen["right"] <= response["left"] and after["right"] <= outcome["left"]
        assert seen["bottom"] <= after["top"]
    page.set_viewport_size({"width": 390, "height": 844})
    stacked = page.evaluate(boxes, "#reader-body > .panel")[:4]
    assert all(upper["bottom"] <= lower["top"] for upper, lower in pairwise(stacked))
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_view_is_in_the_address_and_goes_with_the_turn_to_the_next_member(page: Page, row: Trajectory) -> None:
    page.goto(f"{path_of(row)}#t=2")
    expect(page.locator("#reader-turn h2")).to_contain_text("Turn 2")
    page.keyboard.press("v")
    expect(page).to_have_url(re.compile(r"#view=transcript&t=2$"))
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile(r"#view=transcript&t=3$"))
    page.locator(".transcript-turn").nth(2).get_by_role("button", name="Frames and tokens").click()
    expect(page.locator("#reader-turn h2")).to_contain_text("Turn 3")
    page.keyboard.press("v")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(rf"/trajectories/(?!{row.pk}/)\d+/#view=transcript"))
    expect(page.locator(".transcript-turn").first).to_be_visible()


def test_find_counts_highlights_and_goes_around_without_changing_the_text(page: Page, row: Trajectory) -> None:
    page.goto(path_of(row))
    expect(page.locator("#reader-turn h2")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#find-input")).to_be_focused()
    text = page.locator("#reader-transcript").inner_html()
    page.keyboard.type("LIGHTHOUSE")
    count = page.locator("#find-count")
    expect(count).to_have_text("1 of 3")
    assert page.evaluate(HIGHLIGHTED, "found-current") == [[5, 15]]  # "Is a " has five letters
    assert len(page.evaluate(HIGHLIGHTED, "found")) == 3
    page.keyboard.press("Enter")
    expect(count).to_have_text("2 of 3")
    third = page.locator(".transcript-turn").nth(2).locator("pre", has_text="or two")
    expect(third).to_be_in_viewport()
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    expect(count).to_have_text("3 of 3")
    strip = re.compile(r'<div class="board.*?</div>', re.DOTALL)  # boards are drawn as they come near
    assert strip.sub("", page.locator("#reader-transcript").inner_html()) == strip.sub("", text)
    page.fill("#find-input", "no such words")
    expect(count).to_have_text("not found")
    page.keyboard.press("Escape")
    expect(count).to_have_text("")
    assert page.evaluate(HIGHLIGHTED, "found") == []


def test_a_hit_in_hostile_text_stays_text(page: Page, row: Trajectory) -> None:
    page.goto(f"{path_of(row)}#view=transcript")
    page.fill("#find-input", "<b id=injected>x</b> the end RLO a light")  # across the mark of a hidden character
    expect(page.locator("#find-count")).to_have_text("1 of 1")
    expect(page.locator("#injected")).to_have_count(0)
    expect(page.locator("#reader-transcript .hidden-character")).to_have_text("RLO")


def test_raw_shows_prompts_and_responses_as_they_were(page: Page, row: Trajectory, record: dict[str, Any]) -> None:
    page.goto(f"{path_of(row)}#view=transcript&t=2")
    expect(page.locator(".transcript-turn")).to_have_count(row.turns)
    page.keyboard.press("r")
    turn = record["turns"][1]
    shown = page.locator(".transcript-turn").nth(1).locator("pre")
    expect(shown.nth(0)).to_have_text(turn["prompt"], use_inner_text=False)
    expect(shown.nth(1)).to_have_text(turn["response"])
