"""Reading a trajectory in a browser: turns, frames, tokens and members, by mouse and keyboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
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


@pytest.fixture
def rows(transactional_db: None, settings: Settings, tmp_path: Path) -> list[Trajectory]:
    settings.RUNS_DIR = str(tmp_path / "runs")
    run = build_run()
    record_steps(run, run.parsed_config().environments[0], steps=range(1, 2), skill=0.1, faults=0.2)
    return list(Trajectory.objects.select_related("run").order_by("group", "member"))


@pytest.fixture
def longest(rows: list[Trajectory]) -> Trajectory:
    """One with three turns or more and a following member."""
    return next(row for row in rows[:-1] if row.turns >= 3)


@pytest.fixture
def record(longest: Trajectory) -> dict[str, Any]:
    return services.record(longest)


@pytest.fixture
def page(rows: list[Trajectory], record: dict[str, Any], settings: Settings) -> Iterator[Page]:
    with open_site(settings) as opened:
        yield opened


def path_of(row: Trajectory) -> str:
    return f"/runs/{row.run_id}/trajectories/{row.pk}/"


def test_a_link_opens_its_turn_and_keys_continue_from_there(page: Page, longest: Trajectory) -> None:
    page.goto(f"{path_of(longest)}#t=2")
    title = page.locator("#reader-turn h2")
    expect(title).to_have_text(f"Turn 2 of {longest.turns}")
    page.keyboard.press("j")
    expect(title).to_have_text(f"Turn 3 of {longest.turns}")
    expect(page).to_have_url(re.compile(r"#t=3$"))
    page.keyboard.press("k")
    page.keyboard.press("k")
    page.keyboard.press("k")
    expect(title).to_have_text(f"Turn 1 of {longest.turns}")


def test_a_what_if_starts_at_the_turn_shown(page: Page, longest: Trajectory) -> None:
    page.goto(path_of(longest))
    title = page.locator("#reader-turn h2")
    expect(title).to_have_text(f"Turn 1 of {longest.turns}")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(title).to_have_text(f"Turn 3 of {longest.turns}")
    page.click("#reader-what-if")
    expect(page).to_have_url(re.compile(r"[?&]turn=3\b"))
    expect(page.get_by_label("Fork at turn")).to_have_value("3")


@pytest.mark.parametrize("turn", ["99", "-4", "x", "1e9"])
def test_an_unknown_turn_shows_the_nearest(page: Page, longest: Trajectory, turn: str) -> None:
    page.goto(f"{path_of(longest)}#t={turn}")
    expect(page.locator("#reader-turn h2")).to_contain_text("Turn ")


def test_the_turn_shows_exactly_what_was_recorded(page: Page, longest: Trajectory, record: dict[str, Any]) -> None:
    page.goto(path_of(longest))
    page.click("summary:has-text('Prompt')")
    page.click("summary:has-text('Response as sampled')")
    turn = record["turns"][0]
    expect(page.locator("#reader-turn details pre")).to_have_count(3)
    texts = [block.text_content() for block in page.locator("#reader-turn details pre").all()]
    assert texts == [*(message["content"] for message in turn["messages"]), turn["response"]]
    assert page.locator(".message-role").all_text_contents() == ["system", "user"]
    expect(page.locator("#reader-facts dd").first).to_contain_text(f"{turn['reward']:.2f}")


def test_frames_step_through_a_turn_and_into_the_next(page: Page, longest: Trajectory, record: dict[str, Any]) -> None:
    page.goto(path_of(longest))
    label, title = page.locator("#frame-label"), page.locator("#reader-turn h2")
    expect(title).to_be_visible()
    count = len(record["turns"][0]["frames"])
    for _ in range(count):
        page.keyboard.press("[")
    expect(label).to_contain_text("before its" if count else "no action was done")
    for _ in range(count + 1):
        page.keyboard.press("]")
    expect(title).to_have_text(f"Turn 2 of {longest.turns}")


def test_space_plays_and_pauses(page: Page, longest: Trajectory) -> None:
    page.goto(path_of(longest))
    expect(page.locator("#reader-turn h2")).to_be_visible()
    page.keyboard.press(" ")
    expect(page.locator("#reader-play")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#reader-turn h2")).to_have_text(f"Turn 2 of {longest.turns}")
    page.keyboard.press(" ")
    expect(page.locator("#reader-play")).to_have_attribute("aria-pressed", "false")


def test_tokens_are_coloured_on_demand_and_show_their_values(
    page: Page, longest: Trajectory, record: dict[str, Any]
) -> None:
    page.goto(path_of(longest))
    expect(page.locator("#reader-turn h2")).to_be_visible()
    expect(page.locator(".token")).to_have_count(0)
    page.click("[data-shade=probability]")
    turn = record["turns"][0]
    expect(page.locator(".token")).to_have_count(turn["response_end"])
    expect(page.locator(".token--sampled")).to_have_count(turn["response_end"] - turn["response_start"])
    first = page.locator(".token--sampled").first
    expect(first).to_have_attribute("title", re.compile(r"probability 0\.\d{4}"))
    page.click("[data-shade=probability]")
    expect(page.locator(".token")).to_have_count(0)


def test_the_url_has_the_selected_token_and_colouring(page: Page, longest: Trajectory, record: dict[str, Any]) -> None:
    turn = record["turns"][1]
    token = turn["response_start"] + 1
    page.goto(f"{path_of(longest)}#t=2&k={token}&by=entropy")
    picked = page.locator("[data-picked]")
    expect(picked).to_have_attribute("data-token", str(token))
    expect(page.locator(".token-facts")).to_contain_text(f"entropy {record['tokens']['entropies'][token]:.3f}")
    page.keyboard.press(".")
    expect(picked).to_have_attribute("data-token", str(token + 1))
    expect(page).to_have_url(re.compile(rf"#t=2&k={token + 1}&by=entropy$"))
    page.locator(f"[data-token='{token}']").click()
    expect(page).to_have_url(re.compile(rf"#t=2&k={token}&by=entropy$"))
    page.goto(f"{path_of(longest)}#k={record['turns'][2]['response_start']}")  # a token has its turn
    expect(page.locator("#reader-turn h2")).to_contain_text("Turn 3")


def test_raw_and_parsed_text_are_toggled(page: Page, longest: Trajectory, record: dict[str, Any]) -> None:
    page.goto(path_of(longest))
    expect(page.locator("#reader-turn h2")).to_be_visible()
    page.keyboard.press("r")
    turn = record["turns"][0]
    texts = [block.text_content() for block in page.locator("#reader-turn pre").all()]
    assert texts == [turn["prompt"], turn["response"]]
    page.keyboard.press("r")
    expect(page.locator("#reader-turn")).to_contain_text("Thought")


def test_the_change_of_each_frame_is_described(page: Page, longest: Trajectory, record: dict[str, Any]) -> None:
    index, frame = next(
        (index, turn["frames"][0])
        for index, turn in enumerate(record["turns"])
        if turn["frames"] and turn["frames"][0]["effective"]
    )
    page.goto(f"{path_of(longest)}#t={index + 1}")
    expect(page.locator("#reader-turn h2")).to_be_visible()
    for _ in range(len(record["turns"][index]["frames"]) - 1):
        page.keyboard.press("[")
    row, column = frame["drawing"]["agent"]
    expect(page.locator("#frame-change")).to_contain_text(f"→ ({row}, {column})")


def test_the_next_member_opens_at_the_same_turn(page: Page, longest: Trajectory, rows: list[Trajectory]) -> None:
    page.goto(f"{path_of(longest)}?turn=2")  # the form of older links
    expect(page.locator("#reader-turn h2")).to_contain_text("Turn 2")
    page.keyboard.press("ArrowRight")
    after = rows[rows.index(longest) + 1]
    expect(page).to_have_url(re.compile(rf"{path_of(after)}#t=\d$"))


def test_arrow_keys_on_the_turn_list_move_between_turns(page: Page, longest: Trajectory) -> None:
    page.goto(path_of(longest))
    turns = page.get_by_role("tab")
    turns.first.click()
    for turn in (2, 3):
        page.keyboard.press("ArrowRight")
        expect(page.locator("#reader-turn h2")).to_have_text(f"Turn {turn} of {longest.turns}")
        expect(turns.nth(turn - 1)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(rf"{path_of(longest)}#t=2$"))


COPIES = """
document.addEventListener("copy", () => { window.selected = document.activeElement.value; });
"""


@pytest.mark.parametrize(
    ("way", "shown"), [("plain http", "Copied"), ("refused altogether", "Not copied: select it manually")]
)
def test_a_link_is_copied_without_a_clipboard_api_or_a_failure_is_shown(
    page: Page, longest: Trajectory, way: str, shown: str
) -> None:
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined });" + COPIES)
    if way == "refused altogether":
        page.add_init_script("document.execCommand = () => false;")
    page.goto(path_of(longest))
    expect(page.locator("#reader-turn h2")).to_be_visible()
    page.click("#reader-copy")
    expect(page.locator("#reader-copy")).to_have_text(shown)
    if shown == "Copied":
        assert page.evaluate("window.selected") == page.url
    expect(page.locator("#reader-copy")).to_have_text("Copy link")
    expect(page.locator("#reader-copy")).to_be_focused()


def test_members_show_where_they_diverge(page: Page, longest: Trajectory) -> None:
    page.goto(path_of(longest))
    expect(page.locator("#reader-turn h2")).to_be_visible()
    page.click("#reader-diverge")
    expect(page.locator(".member-divergence")).to_have_count(4)
    expect(page.locator("[aria-current=page] .member-divergence")).to_have_text("this one")


def test_the_question_mark_lists_the_readers_own_keys(page: Page, longest: Trajectory) -> None:
    page.goto(path_of(longest))
    expect(page.locator("#reader-turn h2")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("#reader-keys")).to_be_visible()
    expect(page.locator("#keys")).to_be_hidden()


def test_a_missing_file_is_named_with_a_remedy(page: Page, longest: Trajectory) -> None:
    (longest.run.directory / longest.file).unlink()
    page.goto(path_of(longest))
    expect(page.locator("#reader-error")).to_contain_text("The trajectory file step_1.jsonl.zst does not exist.")
    expect(page.locator("#reader-error")).to_contain_text("Restore the file to read it")
    expect(page.locator("#reader-body")).to_be_hidden()


def test_entropies_that_the_sampler_did_not_report_are_shown_as_unknown(
    page: Page, longest: Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = services.record

    def without(row: Trajectory) -> bytes:
        record = whole(row)
        record["tokens"]["entropies"] = None
        for turn in record["turns"]:
            turn["entropy"] = None
        return json.dumps(record).encode()

    monkeypatch.setattr(services, "checked_text", without)
    page.goto(path_of(longest))
    facts = page.locator("dl dt", has_text=re.compile("^Entropy$"))
    expect(facts.locator("xpath=following-sibling::dd[1]")).to_have_text("–")
    expect(page.locator(".strip--entropy")).to_have_count(0)
    expect(page.get_by_role("button", name="Entropy")).to_be_disabled()
    page.get_by_role("button", name="Probability").click()
    tip = page.locator(".token--sampled").first.get_attribute("title") or ""
    assert "probability" in tip and "entropy" not in tip


def test_optimal_play_is_offered_only_for_a_problem_with_a_known_solution(
    page: Page, longest: Trajectory, record: dict[str, Any]
) -> None:
    page.goto(path_of(longest))
    expect(page.locator("#reader-best")).to_be_visible()
    page.route("**/data.json", lambda route: route.fulfill(json={**record, "optimal_length": None}))
    page.reload()
    expect(page.locator("#reader-turn h2")).to_be_visible()
    expect(page.locator("#reader-best")).to_be_hidden()


@pytest.mark.parametrize(("rows_of_table", "is_whole"), [(40, True), (41, False)])
def test_only_a_very_long_table_scrolls_within_its_box(
    page: Page, longest: Trajectory, record: dict[str, Any], rows_of_table: int, is_whole: bool
) -> None:
    cells = [[f"row {number}", str(number)] for number in range(rows_of_table)]
    table = {"type": "table", "columns": [], "rows": [["a long name", "1"], *cells[1:]]}
    for turn in record["turns"]:
        turn["frames"] = []
    record["initial"]["drawing"] = table
    page.route("**/data.json", lambda route: route.fulfill(json=record))
    page.goto(path_of(longest))
    box = page.locator("#reader-board .board-tablebox")
    expect(box).to_be_visible()
    height, hidden = box.evaluate("box => [box.offsetHeight, box.scrollHeight - box.clientHeight]")
    assert (hidden == 0) == is_whole
    assert (height > 800) == is_whole  # 40 rows of more than 20 px, or 60% of 900 px
