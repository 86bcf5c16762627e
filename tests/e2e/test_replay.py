"""Searching trajectories, comparing them side by side, and the display of a damaged file, in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings

from benchmarks.reader_opening import record_two
from engine.events import TrajectoriesRecorded
from engine.rollout.trajectory_files import read_records
from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from tests.e2e.open_site import needs_chromium, open_site
from webapp.runs.models import Run
from webapp.trajectories import services
from webapp.trajectories.models import Trajectory
from workers.bridge import save_trajectories
from workers.rows import Rows

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def run(transactional_db: None, settings: Settings, tmp_path: Path) -> Run:
    """Two steps, of which the second has lost its last two groups."""
    settings.RUNS_DIR = str(tmp_path / "runs")
    run = build_run()
    record_steps(run, run.parsed_config().environments[0], steps=range(1, 3), skill=0.3)
    file = "trajectories/train/step_2.jsonl.zst"
    path = run.directory / file
    offset = [offset for offset, _, _ in read_records(path)][9]
    path.write_bytes(path.read_bytes()[: offset + 9])
    rows = Rows(run)
    rows.add(TrajectoriesRecorded(seq=9, time=1.0, attempt=1, epoch=0, step=2, split="train", path=file, count=16))
    save_trajectories(rows)
    return run


@pytest.fixture
def members(run: Run) -> list[Trajectory]:
    return list(run.trajectories.filter(step=1, group=0).order_by("member"))


@pytest.fixture
def tokens(run: Run) -> list[int]:
    return sorted(run.trajectories.filter(step=1).values_list("response_tokens", flat=True))


@pytest.fixture
def page(run: Run, members: list[Trajectory], tokens: list[int], settings: Settings) -> Iterator[Page]:
    with open_site(settings) as opened:
        yield opened


def test_search_results_open_at_the_matching_turn(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}/trajectories/")
    page.keyboard.press("/")
    page.keyboard.type('"the way" no hol*')
    page.keyboard.press("Enter")
    marks = page.locator(".snippet").first.locator("mark")
    expect(marks).to_have_text(["the way", "no", "hole"])
    link = page.locator(".snippet a").first
    turn = re.search(r"turn (\d+)", link.text_content() or "")
    assert turn is not None
    link.click()
    expect(page.locator("#reader-turn h2")).to_contain_text(f"Turn {turn[1]} of")
    expect(page.locator("#reader-turn")).to_contain_text("the way")


def test_a_search_over_all_runs_is_narrowed_to_one(run: Run, settings: Settings) -> None:
    other = build_run(name="other")
    record_steps(other, other.parsed_config().environments[0], steps=range(1, 2), groups=1)
    with open_site(settings) as page:
        page.goto("/environments/")
        page.keyboard.press("Control+k")
        page.keyboard.type("no hole")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Trajectories of all runs")
        names = page.locator(".trajectory-run-name")
        expect(names.filter(has_text="calm-otter")).not_to_have_count(0)
        expect(page.locator("#run-names option")).to_have_count(2)
        page.click(f"a:has-text('{other.pk}') >> nth=0")
        expect(names.filter(has_text="calm-otter")).to_have_count(0)
        expect(page.get_by_label("Runs")).to_have_value(other.pk)
        expect(page.get_by_label("Words in thoughts and actions")).to_have_value("no hole")
        page.click("thead a:has-text('Tokens')")
        expect(page.locator("th[aria-sort=descending]")).to_have_text("Tokens")
        page.wait_for_load_state("load")  # by then keys are handled
        page.keyboard.press("j")
        expect(page.locator("[data-opens]").first).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#reader-turn h2")).to_contain_text("Turn 1")
        assert f"/runs/{other.pk}/trajectories/" in page.url


def test_a_click_on_a_header_sorts_and_a_second_reverses_the_order(page: Page, run: Run, tokens: list[int]) -> None:
    page.goto(f"/runs/{run.pk}/trajectories/?step=1")
    column = page.locator(".trajectory-table tbody tr td:nth-child(9)")
    page.click("thead a:has-text('Tokens')")
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Tokens")
    assert [int(text) for text in column.all_text_contents()] == tokens[::-1]
    page.click("thead a:has-text('Tokens')")
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("Tokens")
    assert [int(text) for text in column.all_text_contents()] == tokens


def test_selected_trajectories_are_compared_with_boards_and_the_first_difference(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}/trajectories/?step=1&group=0")
    ticks = page.locator("input[name=ids]")
    for index in range(3):
        ticks.nth(index).check()
    page.click("text=Compare side by side")
    heads = page.locator(".side thead th")
    expect(heads).to_have_count(3)
    expect(page.locator(".side-board svg").first).to_be_visible()
    expect(page.locator(".side-mark").first).to_contain_text("diverges here")
    second = heads.nth(1).locator("a").first.text_content()
    heads.nth(1).locator("text=Put first").click()
    expect(heads.nth(0).locator("a").first).to_have_text(second or "")
    page.click("text=Compare with optimal play")
    expect(page.locator("th.side-best")).to_contain_text("Optimal play")


def test_the_reader_links_to_its_group_side_by_side(page: Page, run: Run, members: list[Trajectory]) -> None:
    page.goto(f"/runs/{run.pk}/trajectories/{members[1].pk}/")
    page.click("#reader-side")
    expect(page.locator(".side thead th")).to_have_count(4)
    expect(page.locator(".side thead th").first).to_contain_text("member 1")


def test_a_damaged_file_is_reported_on_the_list_and_in_the_group(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}/trajectories/")
    lost = page.locator(".lost")
    expect(lost).to_contain_text("7 recorded trajectories cannot be read")
    expect(lost).to_contain_text("group 2, member 1")
    expect(lost).to_contain_text("it was cut off at byte")
    expect(lost).to_contain_text("rebuild_run")
    page.click("a:has-text('2.0')")
    expect(page.locator(".member--lost")).to_have_count(3)
    expect(page.locator("#reader-turn h2")).to_contain_text("Turn 1")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_is_wider_than_a_phone(run: Run, members: list[Trajectory], settings: Settings, theme: str) -> None:
    ids = ",".join(str(row.pk) for row in members)
    own = ["?q=hole&low=0", f"{members[0].pk}/#by=entropy", f"compare/?ids={ids}&best=1", "compare/"]
    paths = [f"/runs/{run.pk}/trajectories/{query}" for query in own] + ["/trajectories/?q=hole"]
    with open_site(settings, width=390) as page:
        page.goto(f"/runs/{run.pk}/trajectories/")
        page.evaluate("theme => localStorage.setItem('starboard.theme', theme)", theme)
        for path in paths:
            page.goto(path)
            expect(page.locator("html")).to_have_attribute("data-theme", theme)
            expect(page.locator("h1")).to_be_visible()
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, path


def test_thirty_thousand_tokens_are_rendered_around_the_reading_position(
    run: Run, members: list[Trajectory], settings: Settings
) -> None:
    row = record_two(30_000)["turns_1"]
    text = services.record(row)["tokens"]["text"]
    with open_site(settings) as page:
        page.goto(f"/runs/{row.run_id}/trajectories/{row.pk}/#k=22222&by=entropy")
        picked = page.locator("[data-picked]")
        expect(picked).to_have_text(text[22222])
        assert page.locator(".token").count() == 1500
        page.locator(".token-more").first.click()
        expect(page.locator(".token").first).to_have_attribute("data-token", str(22222 - 750 - 1500))
        page.keyboard.press(".")
        expect(picked).to_have_attribute("data-token", "22223")
