"""Reading imported rollouts of other trainers, and exporting trajectories: as chat, as JSON, to the clipboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from playwright.sync_api import Download, Page, expect
from pytest_django import Settings

from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from tests.e2e.open_site import needs_chromium, open_site
from tests.e2e.threads import in_thread
from tests.engine.foreign.test_rollouts import verl
from webapp.runs.models import Run
from webapp.trajectories import services
from webapp.trajectories.models import Trajectory

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def rows(transactional_db: None, settings: Settings, tmp_path: Path) -> list[Trajectory]:
    settings.RUNS_DIR = str(tmp_path / "runs")
    run = build_run()
    return record_steps(run, run.parsed_config().environments[0], steps=range(1, 2), skill=0.3, faults=0.0)


@pytest.fixture
def page(rows: list[Trajectory], settings: Settings) -> Iterator[Page]:
    with open_site(settings) as opened:
        yield opened


def members(lines: list[dict[str, Any]]) -> set[tuple[int, int]]:
    return {(line["metadata"]["group"], line["metadata"]["member"]) for line in lines}


def lines_of(download: Download, folder: Path) -> list[dict[str, Any]]:
    file = folder / download.suggested_filename
    download.save_as(file)
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_an_imported_rollout_can_be_read(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "20.jsonl"
    file.write_text("\n".join([verl(score=1), verl(score=0, output="<think>stay</think><answer>Down</answer>")]))
    in_thread(lambda: call_command("import_rollouts", str(file), name="from verl"))
    page.goto(f"/runs/{in_thread(lambda: Run.objects.get(name='from verl').pk)}/")
    expect(page.locator("h1")).to_have_text("from verl")
    expect(page.locator("tbody tr")).to_contain_text(["step 20"])
    page.get_by_role("link", name="View trajectories").click()
    page.locator("[data-opens]").filter(has_text="0.1").click()
    turn = page.locator("#reader-turn")
    expect(turn).to_contain_text("stay")
    expect(page.locator("#reader-outcome .turn-actions")).to_have_text("Down")
    page.get_by_role("button", name="Raw").click()
    expect(turn).to_contain_text("<answer>Down</answer>")


def test_selected_and_filtered_trajectories_are_exported_as_chat(
    page: Page, rows: list[Trajectory], tmp_path: Path
) -> None:
    run, group = rows[0].run_id, [row for row in rows if row.group == 1]
    page.goto(f"/runs/{run}/trajectories/?group=1")
    expect(page.locator("input[name=ids]")).to_have_count(len(group))
    ticked = page.locator("input[name=ids]")
    chosen = [ticked.nth(index).get_attribute("value") for index in (0, 2)]
    for index in (0, 2):
        ticked.nth(index).check()
    with page.expect_download() as some:
        page.get_by_role("button", name="Export selected").click()
    selected = {(row.group, row.member) for row in group if str(row.pk) in chosen}
    assert members(lines_of(some.value, tmp_path)) == selected
    with page.expect_download() as every:
        page.get_by_role("link", name=f"Export all {len(group)}").click()
    exported = lines_of(every.value, tmp_path)
    assert members(exported) == {(1, row.member) for row in group}
    assert {message["role"] for line in exported for message in line["messages"]} >= {"user", "assistant"}


def test_the_reader_downloads_its_record_as_json_and_copies_its_thought(
    page: Page, rows: list[Trajectory], tmp_path: Path
) -> None:
    row = rows[0]
    recorded = in_thread(lambda: services.record(Trajectory.objects.select_related("run").get(pk=row.pk)))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/runs/{row.run_id}/trajectories/{row.pk}/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download JSON").click()
    assert re.fullmatch(r".+\.json", download.value.suggested_filename)
    [taken] = lines_of(download.value, tmp_path)
    assert taken["turns"] == recorded["turns"]
    part = page.locator(".turn-part").filter(has=page.get_by_role("heading", name="Thought"))
    part.get_by_role("button", name="Copy").click()
    expect(part.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == recorded["turns"][0]["thought"]
    page.get_by_role("button", name="Copy link").click()
    assert f"/runs/{row.run_id}/trajectories/{row.pk}/" in page.evaluate("navigator.clipboard.readText()")
