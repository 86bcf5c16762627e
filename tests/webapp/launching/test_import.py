"""Importing rollouts by form and by command: a readable run, and a report of every line that could not be read. A real
engine process reads the uploads."""

from __future__ import annotations

import json
import stat
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from tests.engine.foreign.test_rollouts import ragen, verl
from webapp.launching import uploads
from webapp.launching.models import RolloutImport, imports_folder
from webapp.quotas.models import UserQuota
from webapp.runs.models import Run
from workers.imports import HeldImport, remove_orphans
from workers.tasks import index_run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _folder(settings: Settings, tmp_path: Path) -> None:
    settings.STARBOARD_DATA_DIR = tmp_path
    settings.RUNS_DIR = str(tmp_path / "runs")
    settings.STARBOARD_ENGINE_COMMAND = None


@pytest.fixture
def browser(client: Client, django_user_model: Any) -> Client:
    client.force_login(django_user_model.objects.create_user("ada"))
    return client


def played(found: RolloutImport) -> RolloutImport:
    assert HeldImport.play(found.pk, threading.Event())
    found.refresh_from_db()
    return found


def imported(browser: Client, *lines: str, name: str = "20.jsonl", **fields: str) -> RolloutImport:
    assert upload(browser, *lines, name=name, **fields).status_code == 302
    return played(RolloutImport.objects.latest("pk"))


def upload(browser: Client, *lines: str, name: str = "20.jsonl", **fields: str) -> Any:
    return browser.post("/runs/import/", {"file": SimpleUploadedFile(name, "\n".join(lines).encode()), **fields})


def test_an_upload_is_answered_at_once_and_becomes_a_finished_run_with_trajectories_to_read(browser: Client) -> None:
    answer = upload(browser, verl(score=1), verl(score=0), "{", "")
    waiting = RolloutImport.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/imports/{waiting.pk}/")
    assert (waiting.state, waiting.lines, Run.objects.count()) == ("queued", 3, 0)
    page = browser.get(answer["Location"]).content.decode()
    assert "0 of 3 lines read" in page and "Waits for a worker" in page
    done = played(waiting)
    run = Run.objects.get()
    assert (done.state, done.run, done.read, done.accepted, done.rejected, done.written) == (
        "finished",
        run,
        3,
        2,
        1,
        2,
    )
    page = browser.get(f"/imports/{done.pk}/progress/").content.decode()
    assert "20.jsonl line 3: it is not JSON" in page and f"/runs/{run.pk}/" in page
    assert (run.state, run.preset, run.imported_from) == ("finished", "imported", "20.jsonl")
    waiting_page = browser.get(f"/runs/{run.pk}/").content.decode()
    assert "<h2>Indexing</h2>" in waiting_page and "20.jsonl line 3: it is not JSON" in waiting_page
    index_run(run.pk)
    page = browser.get(f"/runs/{run.pk}/").content.decode()
    assert "<h2>Indexing</h2>" not in page and "step 20" in page
    row = run.trajectories.get(member=1)
    assert (row.step, row.split, row.group, row.episode_return, row.turns) == (20, "train", 0, 0.0, 1)
    record = browser.get(f"/runs/{run.pk}/trajectories/{row.pk}/data.json").json()
    assert record["turns"][0]["response"] == "<think>go</think><answer>Up</answer>"
    assert run.steps.get().metrics["reward/mean"] == 0.5


def test_the_files_of_an_upload_are_private_and_removed_when_it_has_ended(browser: Client) -> None:
    upload(browser, verl())
    waiting = RolloutImport.objects.get()
    assert stat.S_IMODE(waiting.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((waiting.folder / "0.jsonl").stat().st_mode) == 0o600
    played(waiting)
    assert list(imports_folder().iterdir()) == []


def test_a_stopped_import_leaves_neither_files_nor_a_run(browser: Client, tmp_path: Path) -> None:
    upload(browser, verl())
    waiting = RolloutImport.objects.get()
    browser.post(f"/imports/{waiting.pk}/stop/")
    waiting.refresh_from_db()
    assert (waiting.state, waiting.folder.exists()) == ("stopped", False)
    assert not HeldImport.play(waiting.pk, threading.Event())
    assert not Run.objects.exists() and not list((tmp_path / "runs").glob("*"))
    again = browser.post(f"/imports/{waiting.pk}/stop/", follow=True)
    assert "There is nothing to stop" in again.content.decode()


def test_a_user_whose_disk_quota_is_used_up_cannot_upload(browser: Client) -> None:
    UserQuota.objects.create(user=browser.get("/imports/").wsgi_request.user, disk_gib=0)
    answer = upload(browser, verl())
    assert answer.status_code == 422 and "GiB of disk" in answer.content.decode()
    assert not RolloutImport.objects.exists() and not imports_folder().exists()


def test_an_upload_that_a_killed_site_has_left_is_removed_after_a_day(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(browser, verl())
    left = imports_folder() / "left"
    left.mkdir()
    remove_orphans()
    assert left.exists()
    monkeypatch.setattr("workers.imports.ORPHANED_AFTER", timedelta(seconds=-1))
    remove_orphans()
    assert not left.exists() and RolloutImport.objects.get().folder.exists()


def test_an_imported_chat_is_exported_unchanged(browser: Client) -> None:
    imported(browser, ragen())
    run = Run.objects.get()
    index_run(run.pk)
    answer: Any = browser.get(f"/runs/{run.pk}/trajectories/export.jsonl")
    line = json.loads(answer.getvalue())
    assert line["messages"] == json.loads(ragen())["messages"][:-1]  # the last state has no response


def test_other_pages_work_for_a_run_without_a_configuration(browser: Client) -> None:
    imported(browser, verl(score=1), ragen())
    run = Run.objects.get()
    index_run(run.pk)
    for path in (
        "/runs/", "/leaderboard/", f"/compare/?runs={run.pk}", f"/runs/new/?clone={run.pk}", f"/api/v1/runs/{run.pk}/",
        f"/runs/{run.pk}/trajectories/", f"/runs/{run.pk}/latest/", f"/runs/{run.pk}/log/",
    ):  # fmt: skip
        assert browser.get(path).status_code == 200, path


def test_a_file_without_a_valid_line_creates_no_run_and_lists_the_invalid_lines(
    browser: Client, tmp_path: Path
) -> None:
    found = imported(browser, "{", '{"output": 3}')
    assert (found.state, found.rejected, found.run) == ("failed", 2, None)
    page = browser.get(f"/imports/{found.pk}/").content.decode()
    assert "no run was created" in page
    assert "20.jsonl line 1: it is not JSON" in page and "line 2: it has no text under output" in page
    assert not Run.objects.exists()
    assert not list((tmp_path / "runs").glob("*"))


def test_an_upload_that_is_too_large_is_refused_with_the_command_to_use(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MOST_MEGABYTES", 0)
    answer = upload(browser, verl())
    assert answer.status_code == 422
    assert "manage.py import_rollouts" in answer.content.decode()
    assert list(imports_folder().iterdir()) == []


def test_a_file_is_required(browser: Client) -> None:
    answer = browser.post("/runs/import/", {})
    assert answer.status_code == 422
    assert "Choose at least one file" in answer.content.decode()


def test_the_command_accepts_a_directory_of_dumps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    for step in (10, 20):
        (folder / f"{step}.jsonl").write_text(verl(step=step) + "\n[]\n")
    call_command("import_rollouts", str(folder), name="an old run", split="validation")
    run = Run.objects.get()
    assert (run.name, run.total_steps) == ("an old run", 20)
    assert sorted(run.trajectories.values_list("step", "split")) == [(10, "validation"), (20, "validation")]
    output = capsys.readouterr()
    assert "10.jsonl line 2" in output.err and "Read: 2 trajectories in 2 steps" in output.out


def test_the_command_reports_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="does not exist"):
        call_command("import_rollouts", str(tmp_path / "none.jsonl"))


def test_hostile_file_and_environment_names_are_escaped(browser: Client) -> None:
    line = json.dumps({"output": "<script>h01</script>", "score": 1, "environment": "<script>alert('h02')</script>"})
    found = imported(browser, line, "<script>h03</script>", name="<img src=x onerror=alert(1)>.jsonl")
    run = Run.objects.get()
    index_run(run.pk)
    for path in (f"/imports/{found.pk}/", f"/runs/{run.pk}/", "/runs/", f"/runs/{run.pk}/trajectories/"):
        page = browser.get(path).content.decode()
        assert "<script>alert" not in page and "<script>h" not in page and "<img src=x" not in page
