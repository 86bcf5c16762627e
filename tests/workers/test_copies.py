"""Copies of runs in a bucket, on a real S3 server on loopback: stored, freed, fetched, damaged and deleted."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import boto3
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tests.webapp.members.people import a_member
from tests.webapp.world import World, make_world
from tests.workers.workplace import Workplace, wait_for
from webapp.copies.models import StoredCopy
from webapp.projects.models import Role
from webapp.run_pages import removal
from webapp.runs.models import Run
from webapp.runs.states import RunState
from workers import copies
from workers.bucket import Bucket, BucketError
from workers.copies import copy_ended_runs, fetch, free, store

URL = "s3://runs-of-tests/some/prefix"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def answers() -> bool:
        with socket.socket() as attempt:
            return attempt.connect_ex(("127.0.0.1", port)) == 0

    wait_for(answers, seconds=60, what="an S3 server")
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait()


@pytest.fixture
def client(server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    given = {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    found = boto3.client("s3")
    found.create_bucket(Bucket="runs-of-tests")
    yield found
    for one in found.list_objects_v2(Bucket="runs-of-tests").get("Contents", []):
        found.delete_object(Bucket="runs-of-tests", Key=one["Key"])
    found.delete_bucket(Bucket="runs-of-tests")


@pytest.fixture
def world(client: Any, transactional_db: None, settings: Settings, tmp_path: Path) -> World:
    settings.STARBOARD_DATA_DIR = tmp_path
    settings.RUNS_DIR = tmp_path / "runs"
    settings.STARBOARD_ARCHIVE_URL = URL
    found = make_world()
    Run.objects.filter(pk=found.run.pk).update(finished_at=timezone.now())
    found.run.refresh_from_db()
    return found


def content(run: Run) -> dict[str, bytes]:
    files = (path for path in run.directory.rglob("*") if path.is_file())
    return {str(path.relative_to(run.directory)): path.read_bytes() for path in files}


def key_of(run: Run, path: str) -> str:
    return f"some/prefix/{run.pk}/files/{path}"


def test_a_run_that_is_over_is_copied_freed_and_fetched_with_every_byte_the_same(world: World) -> None:
    run, bucket = world.run, Bucket(URL)
    before = content(run)
    copy = store(run, bucket)
    assert (copy.state, copy.files, copy.url) == ("stored", len(before), f"{URL}/{run.pk}")
    assert copy.bytes == sum(map(len, before.values()))
    freed = [path for path in before if path.startswith(("checkpoints/", "trajectories/"))]
    assert free(run, bucket) == sum(len(before[path]) for path in freed) > 0
    assert sorted(content(run)) == sorted(set(before) - set(freed))
    assert StoredCopy.objects.get().freed
    assert fetch(run, bucket) == len(freed)
    assert content(run) == before
    assert not StoredCopy.objects.get().freed


def test_the_page_of_a_run_says_where_its_copy_is(world: World) -> None:
    browser = Client()
    browser.force_login(a_member("vera", Role.VIEWER))
    address = f"/runs/{world.run.pk}/"
    assert "s3://" not in browser.get(address).content.decode()
    store(world.run, Bucket(URL))
    page = browser.get(address).content.decode()
    assert "Copied to the bucket" in page and f"{URL}/{world.run.pk}" in page
    free(world.run, Bucket(URL))
    page = browser.get(address).content.decode()
    assert "in the bucket only" in page and f"manage.py fetch_runs {world.run.pk}" in page


def test_only_what_has_changed_is_uploaded_again(world: World, client: Any) -> None:
    run = world.run
    store(run, Bucket(URL))
    uploaded = {
        one["Key"]: one["LastModified"]
        for one in client.list_objects_v2(Bucket="runs-of-tests", Prefix=f"some/prefix/{run.pk}/files")["Contents"]
    }
    client.put_object(Bucket="runs-of-tests", Key=key_of(run, "engine.log"), Body=b"of another length")
    (run.directory / "notes.txt").write_text("new")
    wait_for(lambda: timezone.now() > max(uploaded.values()), seconds=5)
    assert store(run, Bucket(URL)).files == len(uploaded) + 1
    log = client.get_object(Bucket="runs-of-tests", Key=key_of(run, "engine.log"))["Body"].read()
    assert log == (run.directory / "engine.log").read_bytes()  # what was damaged there is replaced


def test_a_freed_run_that_is_stored_again_keeps_its_files_in_the_bucket(world: World) -> None:
    run, bucket = world.run, Bucket(URL)
    before = content(run)
    store(run, bucket)
    free(run, bucket)
    assert store(run, bucket).files == len(before) and StoredCopy.objects.get().freed
    fetch(run, bucket)
    assert content(run) == before


def test_a_freed_run_is_not_stored_again_without_the_files_that_only_the_bucket_has(world: World, client: Any) -> None:
    run, bucket = world.run, Bucket(URL)
    free(run, bucket)
    manifest = f"some/prefix/{run.pk}/manifest.json"
    there = client.get_object(Bucket="runs-of-tests", Key=manifest)["Body"].read()
    client.put_object(Bucket="runs-of-tests", Key=manifest, Body=there + b" ")  # another one than the row knows
    with pytest.raises(BucketError, match="no complete copy"):
        store(run, bucket)
    assert client.get_object(Bucket="runs-of-tests", Key=manifest)["Body"].read() == there + b" "


def test_files_that_only_the_bucket_has_stay_in_the_copy_while_a_lost_directory_is_half_fetched(
    world: World, client: Any
) -> None:
    run, bucket = world.run, Bucket(URL)
    (run.directory / "events.jsonl").touch()
    before = content(run)
    store(run, bucket)
    shutil.rmtree(run.directory)
    with pytest.raises(BucketError, match=r"has lost its events\.jsonl"):
        store(run, bucket)
    path = "checkpoints/step_2/model/config.json"
    client.put_object(Bucket="runs-of-tests", Key=key_of(run, path), Body=b"[]")
    with pytest.raises(BucketError, match="differs from what was copied"):
        fetch(run, bucket)
    client.put_object(Bucket="runs-of-tests", Key=key_of(run, path), Body=before[path])
    store(run, bucket)
    fetch(run, bucket)
    lost = set(before) - set(content(run))
    assert not [one for one in lost if one.startswith(("checkpoints/", "trajectories/"))]


def test_a_damaged_object_is_not_taken_and_the_run_stays_freed(world: World, client: Any) -> None:
    run, bucket = world.run, Bucket(URL)
    store(run, bucket)
    free(run, bucket)
    path = "checkpoints/step_2/model/config.json"
    client.put_object(Bucket="runs-of-tests", Key=key_of(run, path), Body=b"[]")
    with pytest.raises(BucketError, match="differs from what was copied"):
        fetch(run, bucket)
    assert not (run.directory / path).exists() and not list(run.directory.rglob("*.fetched"))
    copy = StoredCopy.objects.get()
    assert copy.freed and "differs" in copy.message


def test_nothing_is_freed_while_the_bucket_cannot_be_reached(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = world.run
    store(run, Bucket(URL))
    before = content(run)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(Exception, match=r"127\.0\.0\.1:9"):
        free(run, Bucket(URL))
    assert content(run) == before
    copy = StoredCopy.objects.get()
    assert copy.state == "failed" and not copy.freed and "127.0.0.1:9" in copy.message


def test_a_manifest_that_leads_out_of_the_run_directory_is_refused(world: World) -> None:
    with pytest.raises(BucketError, match="leads out"):
        copies.inside(world.run.directory, "../other/file")


def test_a_copy_that_another_worker_is_at_is_left_alone_and_that_of_a_dead_one_is_not(world: World) -> None:
    run, bucket = world.run, Bucket(URL)
    store(run, bucket)
    alive = copies.lease.this_holder()
    StoredCopy.objects.update(state="storing", holder=alive)
    with pytest.raises(BucketError, match="being copied already"):
        store(run, bucket)
    host, _, start, thread = alive.split(" ")
    StoredCopy.objects.update(holder=f"{host} 4194300 {start} {thread}")
    assert store(run, bucket).state == "stored"


@pytest.mark.parametrize("state", ["storing", "fetching"])
def test_the_schedule_goes_on_with_a_copy_that_was_interrupted(world: World, state: str) -> None:
    store(world.run, Bucket(URL))
    host, _, start, thread = copies.lease.this_holder().split(" ")
    StoredCopy.objects.update(state=state, holder=f"{host} 4194300 {start} {thread}")  # of a process that is gone
    copy_ended_runs()
    copy = StoredCopy.objects.get()
    assert (copy.state, copy.message) == (
        "stored", {"storing": "", "fetching": "Fetching was interrupted: fetch it again."}[state]
    )  # fmt: skip
    StoredCopy.objects.update(state=state, holder=copies.lease.this_holder())
    copy_ended_runs()
    assert StoredCopy.objects.get().state == state


def test_the_schedule_copies_a_run_again_that_was_resumed_and_has_ended(world: World) -> None:
    run = world.run
    copy_ended_runs()
    before = StoredCopy.objects.get().files
    (run.directory / "notes.txt").write_text("of the second attempt")
    copy_ended_runs()
    assert StoredCopy.objects.get().files == before  # nothing is due
    Run.objects.update(finished_at=timezone.now())
    copy_ended_runs()
    assert StoredCopy.objects.get().files == before + 1


def test_copies_of_a_deleted_run_are_deleted_also_if_their_copying_was_interrupted(world: World, client: Any) -> None:
    store(world.run, Bucket(URL))
    host, _, start, thread = copies.lease.this_holder().split(" ")
    StoredCopy.objects.update(state="storing", holder=f"{host} 4194300 {start} {thread}")
    assert removal.delete(world.run, world.user).done
    copy_ended_runs()
    assert not StoredCopy.objects.exists()
    assert "Contents" not in client.list_objects_v2(Bucket="runs-of-tests")


def test_the_schedule_copies_ended_runs_frees_old_ones_and_deletes_copies_of_deleted_ones(
    world: World, settings: Settings, client: Any
) -> None:
    run = world.run
    live = Run.objects.create(name="live", config=run.config, state=RunState.RUNNING)
    copy_ended_runs()
    assert list(StoredCopy.objects.values_list("pk", "freed")) == [(run.pk, False)]
    settings.STARBOARD_ARCHIVE_FREE_DAYS = 0
    copy_ended_runs()
    assert StoredCopy.objects.get().freed and not (run.directory / "checkpoints").exists()
    assert not StoredCopy.objects.filter(pk=live.pk).exists()
    assert removal.delete(run, world.user).done
    copy_ended_runs()
    assert not StoredCopy.objects.exists()
    assert "Contents" not in client.list_objects_v2(Bucket="runs-of-tests")


def test_the_commands_copy_free_and_fetch(world: World) -> None:
    run, out = world.run, StringIO()
    before = content(run)
    call_command("copy_runs", run.pk, free=True, stdout=out)
    assert f"at {URL}/{run.pk}" in out.getvalue() and not (run.directory / "trajectories").exists()
    call_command("fetch_runs", run.pk, stdout=out)
    assert content(run) == before
    with pytest.raises(CommandError, match="There is no run nowhere"):
        call_command("copy_runs", "nowhere")


def test_without_a_bucket_the_commands_say_what_to_set(world: World, settings: Settings) -> None:
    settings.STARBOARD_ARCHIVE_URL = ""
    with pytest.raises(CommandError, match="Set STARBOARD_ARCHIVE_URL"):
        call_command("copy_runs")
    settings.STARBOARD_ARCHIVE_URL = "/some/folder"
    with pytest.raises(BucketError, match="Give s3://"):
        call_command("copy_runs")


def test_a_run_whose_directory_was_lost_comes_back_whole_from_its_copy(world: World) -> None:
    run, bucket = world.run, Bucket(URL)
    before = content(run)
    store(run, bucket)
    shutil.rmtree(run.directory)
    fetch(run, bucket)
    assert content(run) == before


@pytest.mark.slow
def test_a_worker_copies_a_run_when_it_has_ended(workplace: Workplace, client: Any, settings: Settings) -> None:
    settings.STARBOARD_ARCHIVE_URL = URL
    workplace.more = {"STARBOARD_ARCHIVE_URL": URL}
    workplace.start_worker()
    run = workplace.submit(steps=2)
    wait_for(lambda: Run.objects.get(pk=run.pk).state == RunState.FINISHED, seconds=60, what="a finished run")
    wait_for(lambda: StoredCopy.objects.filter(pk=run.pk, state="stored").exists(), seconds=90, what="a copy")
    shutil.rmtree(run.directory)
    run.refresh_from_db()
    fetch(run, Bucket(URL))
    assert (run.directory / "events.jsonl").stat().st_size == run.event_offset
