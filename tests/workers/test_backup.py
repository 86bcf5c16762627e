"""A backup is taken while an engine trains, and restored elsewhere: every row and file of that moment is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from engine.event_lines import parse_event
from engine.policies.adapter_files import WEIGHTS
from engine.training.checkpoint_folder import checkpoints, is_valid
from tests import warm_python
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import run_config
from tests.launch.empty_database import put_empty_database
from tests.on_postgres import find_programs, server
from tests.workers.workplace import REPOSITORY, wait_for
from webapp.adapter_copies import FOLDER

RUN = "0123456789"


PASSWORD = {"STARBOARD_PASSWORD": "a long passphrase of ada"}


class Site:
    """An installation of its own: a data directory, and a SQLite database in it unless another one is given."""

    def __init__(self, directory: Path, database: str = "") -> None:
        self.directory = directory
        self.environment = {**os.environ, "STARBOARD_DATA_DIR": str(directory), "OMP_NUM_THREADS": "1"} | PASSWORD
        for variable in ("DATABASE_URL", "RUNS_DIR", "REDIS_URL"):
            self.environment.pop(variable, None)
        if database:
            self.environment["DATABASE_URL"] = database

    def manage(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return warm_python.run(["manage.py", *arguments], env=self.environment, check=check, timeout=120)

    def ask(self, code: str) -> str:
        return self.manage("shell", "--no-imports", "-c", code).stdout.strip()


DRAIN = """
from webapp.runs.models import Run
from workers.bridge import Bridge
run = Run.objects.get()
Bridge(run, run.epoch).drain(moves=False)
"""
COUNTS = DRAIN + "print(run.steps.count(), run.last_seq, run.state, run.record_problems.count())"


@pytest.mark.slow
def test_a_backup_under_a_running_engine_restores_every_row_and_file(tmp_path: Path) -> None:
    site, elsewhere = Site(tmp_path / "site"), Site(tmp_path / "elsewhere")
    directory = site.directory / "runs" / RUN
    directory.mkdir(parents=True)
    config = run_config(
        save_small_model(tmp_path / "model"),
        steps=5000,
        checkpoint={"every": 1, "keep": 2},
        evaluation={"every": 0, "at_start": False, "final_episodes": 4},
    )
    (directory / "config.json").write_text(config.model_dump_json())
    put_empty_database(site.directory)
    site.manage("create_user", "ada")
    site.ask(
        "import json; from pathlib import Path; from webapp.runs.models import Run; "
        f"Run.objects.create(pk='{RUN}', name='calm-otter', state='running', epoch=1, "
        f"config=json.loads(Path('{directory}/config.json').read_text()))"
    )
    command = [sys.executable, "-m", "engine", "train", str(directory / "config.json"), "--run-dir", str(directory)]
    engine = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=REPOSITORY, env=site.environment)
    try:
        events = directory / "events.jsonl"
        wait_for(lambda: events.exists() and events.read_text().count("step_completed") > 5, seconds=120)
        before = site.ask(COUNTS).split()
        site.manage("backup", str(tmp_path / "backup.tar"))
        assert engine.poll() is None
        time.sleep(0.5)
    finally:
        engine.kill()
        engine.wait()
    elsewhere.manage("restore", str(tmp_path / "backup.tar"))
    steps, seq, state, problems = elsewhere.ask(COUNTS).split()
    assert (state, problems) == ("stopped", "0")
    assert int(seq) >= int(before[1])
    assert int(steps) >= int(before[0]) > 5
    restored = elsewhere.directory / "runs" / RUN
    lines = restored.joinpath("events.jsonl").read_bytes()
    assert events.read_bytes().startswith(lines)
    whole = lines[: lines.rfind(b"\n") + 1].splitlines()
    assert [parse_event(line).seq for line in whole] == list(range(1, len(whole) + 1))
    saved = checkpoints(restored / "checkpoints")
    assert saved
    assert all(is_valid(path) for path in saved)
    assert elsewhere.ask("from django.contrib.auth.models import User; print(User.objects.get().username)") == "ada"


MAKE_JOBS = """
from engine.policies.adapter_files import WEIGHTS
from tests.webapp.world import make_world
from webapp.adapter_copies import copies_folder
from webapp.copies.models import StoredCopy
from webapp.evaluations.models import EvaluationRequest
world = make_world()
EvaluationRequest.objects.create(run=world.run, step=1)
StoredCopy.objects.create(run_key=world.run.pk, state="storing", holder="elsewhere 1 1 1", url="s3://a")
type(world.sweep).objects.update(state="running", adapters={"/an/adapter": "its-copy"})
(copies_folder() / "its-copy").mkdir(parents=True)
(copies_folder() / "its-copy" / WEIGHTS).write_bytes(b"weights")
process = {"cookie": "a-job", "holder": "elsewhere 1 1 1"}
for one in (world.what_if, world.preflight, EvaluationRequest, world.evaluation, world.rollouts):
    rows = one.objects if one is EvaluationRequest else type(one).objects
    rows.update(state="running", process=process, message="", ended_at=None)
"""
STATES = """
from django.apps import apps
from webapp.jobs import Job
for kind in sorted(Job.__subclasses__(), key=lambda kind: kind.NOUN):
    for job in kind.objects.all():
        print(kind.NOUN, job.state, job.process, job.message, getattr(job, "remedy", ""), sep="|")
for name, reason in (("sweeps.Sweep", "stopped_because"), ("copies.StoredCopy", "message")):
    print(name, *apps.get_model(name).objects.values_list("state", reason).get(), sep="|")
"""


@pytest.mark.slow
def test_what_was_being_done_at_the_time_of_a_backup_goes_on_or_has_ended_with_a_reason(tmp_path: Path) -> None:
    """Jobs of a worker on a machine that nobody hears of, which would keep others of their kind waiting for up to 14
    days. An import and an evaluation on a suite lose nothing, so that they wait for a worker; the others are over."""
    site, elsewhere = Site(tmp_path / "site"), Site(tmp_path / "elsewhere")
    site.manage("migrate")
    site.ask(MAKE_JOBS)
    site.manage("backup", str(tmp_path / "backup.tar"))
    said = elsewhere.manage("restore", str(tmp_path / "backup.tar")).stdout
    lines = [line.split("|", 2) for line in elsewhere.ask(STATES).splitlines()]
    states = [(name, state) for name, state, _ in lines]
    assert states == [
        ("Evaluation", "failed"),
        ("Import", "queued"),
        ("Pre-flight", "failed"),
        ("Suite evaluation", "queued"),
        ("What-if", "failed"),
        ("What-if", "failed"),
        ("sweeps.Sweep", "stopped"),
        ("copies.StoredCopy", "failed"),
    ]
    reasons = [rest for name, state, rest in lines if state in ("failed", "stopped") and "Copy" not in name]
    assert all("Restored from a backup of 20" in reason for reason in reasons)
    assert "Evaluate again." in reasons[0]
    assert "6 jobs were interrupted" in said
    assert (elsewhere.directory / "runs" / FOLDER / "its-copy" / WEIGHTS).read_bytes() == b"weights"


def test_a_restore_needs_an_empty_installation_and_says_so(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    put_empty_database(site.directory)
    site.manage("create_user", "ada")
    site.manage("backup", str(tmp_path / "backup.tar"))
    refused = site.manage("restore", str(tmp_path / "backup.tar"), check=False)
    assert refused.returncode
    assert "This installation has users, runs or files." in refused.stderr
    again = site.manage("backup", str(tmp_path / "backup.tar"), check=False)
    assert "exists" in again.stderr
    assert oct((tmp_path / "backup.tar").stat().st_mode)[-3:] == "600"


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    (tmp_path / "text").write_text("no archive")
    with tarfile.open(tmp_path / "other.tar", "w") as archive:
        (tmp_path / "about.txt").write_text(json.dumps({}))
        archive.add(tmp_path / "about.txt", arcname="about.txt")
    assert "cannot be read" in site.manage("restore", str(tmp_path / "text"), check=False).stderr
    assert "not a backup" in site.manage("restore", str(tmp_path / "other.tar"), check=False).stderr


ENDED = """
from webapp.runs.models import Run
run = Run.objects.get()
print(run.state, run.end_cause, run.finished_at is not None)
"""


@pytest.mark.slow
def test_a_backup_of_postgresql_is_restored_into_another_server(tmp_path: Path) -> None:
    programs = find_programs()
    assert programs is not None, "PostgreSQL is not installed"
    with server(programs) as database:
        site = Site(tmp_path / "site", database)
        site.manage("migrate", "--skip-checks")
        site.manage("create_user", "ada")
        site.ask("from webapp.runs.models import Run; Run.objects.create(name='calm', config={}, state='running')")
        site.manage("backup", str(tmp_path / "backup.tar"))
    elsewhere = Site(tmp_path / "elsewhere", database)
    refused = elsewhere.manage("restore", str(tmp_path / "backup.tar"), check=False)
    assert "The database cannot be used: " in refused.stderr
    assert [path.name for path in elsewhere.directory.rglob("*") if path.is_file()] == ["secret_key"]
    with server(programs) as database:
        elsewhere = Site(tmp_path / "elsewhere", database)
        elsewhere.manage("restore", str(tmp_path / "backup.tar"))
        assert elsewhere.ask(ENDED) == "stopped stopped True"
        assert elsewhere.ask("from django.contrib.auth.models import User; print(User.objects.get().username)") == "ada"
