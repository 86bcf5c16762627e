"""Deleting runs: what it frees, what it leaves, and when it is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from django.test import Client

from tests.webapp.runs.rows import a_run, report
from webapp.run_pages import removal
from webapp.run_pages.removal import removals, sweep
from webapp.runs.disk import disk_bytes
from webapp.runs.models import DeletedRun, Run, StepMetrics
from webapp.runs.states import RunState

pytestmark = pytest.mark.django_db

KIB = 1024


def write(path: Path, size: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())  # until then some file systems have given it no blocks
    return path


def a_finished_run(name: str = "over") -> Run:
    run = a_run(name, RunState.FINISHED)
    write(run.directory / "checkpoints" / "step_5" / "weights", 64 * KIB)
    (run.directory / "checkpoints" / "step_5" / "manifest.json").write_text(json.dumps(["weights"]))
    return run


def a_fork_of(parent: Run, *, copied: bool) -> Run:
    fork = a_run("fork", RunState.FINISHED)
    fork.forked_from, fork.fork_step = parent, 5
    fork.config["model"]["start_from"] = {"run": parent.pk, "step": 5}
    fork.save()
    if copied:
        copy = fork.directory / "start" / parent.pk / "step_5"
        copy.mkdir(parents=True)
        for file in (parent.directory / "checkpoints" / "step_5").iterdir():
            os.link(file, copy / file.name)
    return fork


def delete(browser: Client, *runs: Run, confirmed: bool = True) -> str:
    given = {"action": "delete", "run": [run.pk for run in runs], **({"confirmed": "1"} if confirmed else {})}
    return browser.post("/runs/bulk/", given, follow=True).content.decode()


def test_a_deletion_says_what_it_frees_and_waits_for_a_confirmation(browser: Client) -> None:
    run = a_finished_run()
    page = delete(browser, run, confirmed=False)
    assert "Deleting 1 run frees" in page
    assert run.directory.is_dir()
    assert Run.objects.filter(pk=run.pk).exists()


def test_a_deleted_run_is_gone_with_its_rows_and_its_directory(browser: Client, runs_directory: Path) -> None:
    run, other = a_finished_run("over"), a_finished_run("other")
    report(run, 0.1, 0.2)
    report(other, 0.3)
    page = delete(browser, run)
    assert "Deleted 1 run and freed 6" in page  # 64 KiB, and the manifest where that has a block
    assert not Run.objects.filter(pk=run.pk).exists()
    assert list(StepMetrics.objects.values_list("run__name", flat=True)) == ["other"]
    assert [path.name for path in runs_directory.iterdir()] == [other.pk]
    gone = browser.get(f"/runs/{run.pk}/")
    assert gone.status_code == 410
    assert "ada deleted it" in gone.content.decode()


def test_files_that_a_fork_links_to_are_not_counted_as_freed(browser: Client) -> None:
    parent = a_finished_run()
    write(parent.directory / "events.jsonl", 8 * KIB)
    freed, shared = disk_bytes(parent.directory)
    assert (freed >= 72 * KIB, shared) == (True, 0)
    fork = a_fork_of(parent, copied=True)
    freed, shared = disk_bytes(parent.directory)
    assert 8 * KIB <= freed < 64 * KIB
    assert shared >= 64 * KIB
    delete(browser, parent)
    assert (fork.directory / "start" / parent.pk / "step_5" / "weights").stat().st_size == 64 * KIB
    assert Run.objects.get(pk=fork.pk).forked_from is None


def test_a_live_run_is_not_deleted(browser: Client) -> None:
    run = a_run("busy")
    assert "Not deleted: It is running. Stop it first." in delete(browser, run)
    assert Run.objects.filter(pk=run.pk).exists()


def test_a_run_with_the_only_copy_of_a_fork_s_checkpoint_is_not_deleted_without_the_fork(browser: Client) -> None:
    parent = a_finished_run()
    fork = a_fork_of(parent, copied=False)
    assert [one.refusal for one in removals([parent])] == ["fork starts from a checkpoint that is only here."]
    assert "Not deleted: fork starts" in delete(browser, parent)
    assert parent.directory.is_dir()
    delete(browser, parent, fork)
    assert not Run.objects.exists()


def test_archiving_says_that_files_stay(browser: Client) -> None:
    run = a_finished_run()
    page = browser.post("/runs/bulk/", {"action": "archive", "run": [run.pk]}, follow=True).content.decode()
    assert "Archived 1 run. Their files stay: deleting them would free 6" in page
    assert run.directory.is_dir()


def test_a_confirmation_says_what_is_freed_by_kind_and_which_forks_stay(browser: Client) -> None:
    run = a_finished_run()
    write(run.directory / "trajectories" / "train" / "step_1.jsonl.zst", 20 * KIB)
    write(run.directory / "events.jsonl", 8 * KIB)
    [found] = removals([run])
    # of blocks of 4 KiB: 64 KiB of weights and a manifest, which some file systems store without a block
    assert found.trajectories == 20 * KIB
    assert 64 * KIB <= found.checkpoints <= 68 * KIB
    assert 8 * KIB <= found.record <= 12 * KIB
    assert found.freed == found.record + found.trajectories + found.checkpoints
    a_fork_of(run, copied=True)
    page = delete(browser, run, confirmed=False)
    assert "1 fork keeps the checkpoint, and loses the link to this run." in page


def test_the_page_of_a_run_offers_to_delete_it(browser: Client) -> None:
    run = a_finished_run()
    page = browser.get(f"/runs/{run.pk}/").content.decode()
    assert 'name="action" value="delete"' in page


def test_directories_that_a_crash_has_left_are_swept(browser: Client, runs_directory: Path) -> None:
    kept, before, within = a_finished_run("kept"), a_finished_run("before"), a_finished_run("within")
    for run in (before, within):  # the rows are gone; the process died before the directory was set aside, and after
        DeletedRun.objects.create(pk=run.pk, name=run.name, who="ada", freed=1)
        Run.objects.filter(pk=run.pk).delete()
    within.directory.rename(runs_directory / f".deleted-{within.pk}")
    assert sweep() == 2
    assert [path.name for path in runs_directory.iterdir()] == [kept.pk]
    assert sweep() == 0


def test_the_directory_of_a_run_that_was_restored_is_not_swept(runs_directory: Path) -> None:
    run = a_finished_run()
    DeletedRun.objects.create(pk=run.pk, name=run.name, who="ada", freed=1)
    assert sweep() == 0
    assert run.directory.is_dir()


def test_a_large_directory_is_left_to_a_worker(
    browser: Client, runs_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "LARGE", 32 * KIB)
    run = a_finished_run()
    delete(browser, run)
    assert [path.name for path in runs_directory.iterdir()] == [f".deleted-{run.pk}"]
    sweep()
    assert not list(runs_directory.iterdir())


def api_delete(browser: Client, run: Run, **body: bool) -> tuple[int, dict[str, object]]:
    answer = browser.post(f"/api/v1/runs/{run.pk}/delete", json.dumps(body), "application/json")
    return answer.status_code, answer.json()


def test_the_api_says_what_would_be_freed_and_deletes_with_a_confirmation(browser: Client) -> None:
    run = a_finished_run()
    status, answer = api_delete(browser, run)
    assert (status, answer["deleted"]) == (200, False)
    assert run.directory.is_dir()
    status, answer = api_delete(browser, run, confirm=True)
    assert (status, answer["deleted"]) == (200, True)
    assert not run.directory.exists()
    assert DeletedRun.objects.get(pk=run.pk).who == "ada"


def test_the_api_refuses_to_delete_a_live_run(browser: Client) -> None:
    run = a_run("live", RunState.RUNNING)
    status, answer = api_delete(browser, run, confirm=True)
    assert status == 409
    assert "It is running. Stop it first." in str(answer["error"])
