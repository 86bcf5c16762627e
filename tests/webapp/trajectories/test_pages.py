"""The list, the reader and the data of trajectories."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from tests.builders.runs import build_run
from tests.builders.trajectories import record_steps
from tests.hostile import HOSTILE
from tests.webapp.world import make_world
from webapp.runs.models import Run
from webapp.trajectories.models import Trajectory


def address(name: str, row: Trajectory) -> str:
    return reverse(f"trajectories:{name}", args=[row.run_id, row.pk])


def test_the_list_shows_rows_with_counts(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    page = browser.get(f"/runs/{run.pk}/trajectories/?success=yes")
    solved = sum(row.success for row in rows)
    assert page.context["counts"].total == solved
    assert f"{solved} of 32 trajectories" in page.content.decode()


def test_a_run_without_a_group_filter_shows_no_choice_of_one(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    address = f"/runs/{run.pk}/trajectories/"
    page = browser.get(address).content.decode()
    assert "Group filter" in page
    assert "sort=-kept" in page
    run.trajectories.update(kept=None)
    page = browser.get(address).content.decode()
    assert "Group filter" not in page
    assert "sort=-kept" not in page
    assert "by the filter" not in browser.get(f"{address}{rows[0].pk}/").content.decode()


def test_the_overview_lists_one_trajectory_of_each_group_of_the_newest_step(
    browser: Client, run: Run, rows: list[Trajectory]
) -> None:
    page = browser.get(f"/runs/{run.pk}/latest/").content.decode()
    firsts = [row.pk for row in rows if (row.step, row.member) == (2, 0)]  # of 4 groups x 4 members
    assert [int(key) for key in re.findall(r"/trajectories/(\d+)/", page)] == firsts
    assert len(firsts) == 4


def test_a_run_without_trajectories_explains_when_they_appear(browser: Client, run: Run) -> None:
    assert "No trajectories yet" in browser.get(f"/runs/{run.pk}/trajectories/").content.decode()


def test_filters_that_match_nothing_offer_to_clear_them(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    assert "Clear the filters" in browser.get(f"/runs/{run.pk}/trajectories/?step=99").content.decode()


@pytest.mark.parametrize(
    ("query", "offered"),
    [
        ("step=4", [("step 3", "?step=3"), ("step 6", "?step=6")]),
        ("step_low=4&step_high=5&q=", [("step 3", "?step=3"), ("step 6", "?step=6")]),
        ("step=99&split=train", [("step 6", "?split=train&amp;step=6")]),
        ("step=4&split=validation", []),
        ("seed=987654321", []),
    ],
)
def test_a_step_without_recordings_offers_the_nearest_steps(
    browser: Client, run: Run, query: str, offered: list[tuple[str, str]]
) -> None:
    record_steps(run, run.parsed_config().environments[0], steps=range(3, 7, 3))  # 3 and 6
    page = browser.get(f"/runs/{run.pk}/trajectories/?{query}").content.decode()
    assert "Nothing matches" in page
    links = re.findall(r'<a class="button button--primary" href="(\?[^"]*)">(step \d+)</a>', page)
    assert [(words, address) for address, words in links] == offered


def test_an_invalid_filter_is_reported_and_the_page_still_works(
    browser: Client, run: Run, rows: list[Trajectory]
) -> None:
    page = browser.get(f"/runs/{run.pk}/trajectories/?step=x&after=y&sort=z")
    assert page.status_code == 200
    assert "is not a whole number" in page.content.decode()


def test_the_reader_shows_step_group_and_member(browser: Client, rows: list[Trajectory]) -> None:
    page = browser.get(address("detail", rows[5]))
    assert page.status_code == 200
    assert list(page.context["members"]) == rows[4:8]
    assert (page.context["before"], page.context["after"]) == (rows[4], rows[6])


def test_the_data_endpoint_returns_the_record(browser: Client, rows: list[Trajectory]) -> None:
    found = browser.get(address("data", rows[0])).json()
    assert (found["group"], found["member"], found["step"]) == (0, 0, 1)
    assert found["turns"][0]["response"].startswith("<think>")


def test_a_download_is_named_after_the_trajectory(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    answer = browser.get(address("data", rows[0]) + "?download=1")
    assert answer["Content-Disposition"] == f'attachment; filename="{run.pk}-train-1-0-0.json"'


def test_a_missing_file_is_an_error_with_its_name_and_a_remedy(
    browser: Client, run: Run, rows: list[Trajectory]
) -> None:
    (run.directory / rows[0].file).unlink()
    answer = browser.get(address("data", rows[0]))
    assert answer.status_code == 410
    assert answer.json()["error"] == {
        "message": "The trajectory file step_1.jsonl.zst does not exist.",
        "remedy": "The run directory was moved or cleaned up. Restore the file to read it.",
        "file": "trajectories/train/step_1.jsonl.zst",
    }


@pytest.mark.parametrize("name", ["detail", "data"])
def test_a_trajectory_is_found_only_under_its_own_run(browser: Client, rows: list[Trajectory], name: str) -> None:
    another = build_run(name="another")
    assert browser.get(reverse(f"trajectories:{name}", args=[another.pk, rows[0].pk])).status_code == 404
    assert browser.get(reverse(f"trajectories:{name}", args=[rows[0].run_id, 10**30])).status_code == 404


def test_an_unknown_run_has_no_list(browser: Client) -> None:
    assert browser.get("/runs/nothere/trajectories/").status_code == 404


def test_pages_refuse_unsafe_methods_and_anonymous_users(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    for path in (f"/runs/{run.pk}/trajectories/", address("detail", rows[0]), address("data", rows[0])):
        assert browser.post(path).status_code == 405
        assert Client().get(path).status_code in {302, 401, 403}


@pytest.mark.django_db
def test_hostile_records_are_sent_only_as_json(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = str(tmp_path / "runs")
    world = make_world(texts=HOSTILE)
    client.force_login(world.user)
    for text, row in zip(HOSTILE, world.trajectories, strict=True):
        answer = client.get(address("data", row))
        assert answer["Content-Type"] == "application/json"
        assert json.loads(answer.content)["turns"][0]["response"] == text
        assert client.get(address("detail", row)).status_code == 200


@pytest.mark.slow
def test_a_list_of_fifty_thousand_rows_is_fast(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    """Counts queries, not seconds: the number of queries must not grow with the run."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    template = rows[0]
    Trajectory.objects.filter(run=run).delete()
    many = []
    for number in range(50_000):
        fields = {field.attname: getattr(template, field.attname) for field in Trajectory._meta.concrete_fields}
        many.append(
            Trajectory(
                **{**fields, "id": None, "step": number // 128, "group": number % 128 // 8, "member": number % 8}
            )
        )
    Trajectory.objects.bulk_create(many, batch_size=2000)
    for path, most in ((f"/runs/{run.pk}/trajectories/", 13), ("/trajectories/", 16)):
        with CaptureQueriesContext(connection) as queries:
            page = browser.get(f"{path}?sort=advantage&kept=kept")
        assert page.status_code == 200
        assert len(queries) <= most, path
