"""What a training loop elsewhere reports: sent in the background, kept on disk without a site, and taken once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

import starboard_client
from starboard_client import Recorder, Starboard, StarboardError
from starboard_client.cli import main
from starboard_client.spool import Ending, InUse, Spool, spools
from webapp.runs.models import Run, StepMetrics
from webapp.trajectories.models import Trajectory
from workers.indexing import index

ROOT = Path(__file__).resolve().parents[2]
AWAY = "http://127.0.0.1:1"


def recorder(starboard: Starboard, folder: Path) -> Recorder:
    return Recorder("lakes", source="trl", name="far away", steps=50, starboard=starboard, folder=folder / "spool")


def test_a_loop_s_metrics_are_a_run(starboard: Starboard, tmp_path: Path) -> None:
    with recorder(starboard, tmp_path) as run:
        for step in range(1, 51):
            run.log({"rollout/success": step / 100, "loss": float("nan"), "note": "text"}, step)
        run.log({"huge": 10**400, "rows": [1, 2]}, 50)
    row = Run.objects.get()
    assert (row.name, row.state, row.project.name) == ("far away", "finished", "lakes")
    assert run.dropped == 52  # each note, and two more
    index(row.pk)
    assert list(StepMetrics.objects.order_by("step").values_list("step", flat=True)) == list(range(1, 51))
    assert StepMetrics.objects.get(step=50).metrics == {"rollout/success": 0.5}


def test_a_loop_that_raises_is_a_failed_run(starboard: Starboard, tmp_path: Path) -> None:
    with pytest.raises(MemoryError), recorder(starboard, tmp_path) as run:
        run.log({"loss": 1}, 1)
        raise MemoryError("out of memory")
    row = Run.objects.get()
    assert (row.state, row.state_reason) == ("failed", "MemoryError: out of memory")


def test_logging_never_waits_for_the_site(starboard: Starboard, tmp_path: Path) -> None:
    run = recorder(starboard, tmp_path)
    began = time.perf_counter()
    for step in range(2000):
        run.log({"loss": 1.0, "reward/mean": 0.5}, step)
    assert (time.perf_counter() - began) / 2000 < 0.001  # a request takes longer
    assert run.finish()


def test_groups_trajectories_and_evaluations_arrive(starboard: Starboard, tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "S . G"}, {"role": "assistant", "content": "Right", "reward": 1.0}]
    with recorder(starboard, tmp_path) as run:
        for step in (1, 2):
            run.log_groups([[0.0, 1.0], {"returns": [1, 1], "successes": None, "seed": 7}], step)
            run.log_trajectories([{"group": group, "messages": chat} for group in (0, 0, 1)], step)
        run.log_evaluation(episodes=256, successes=61, mean_return=0.2)
        run.log_trajectories([{"messages": object()}], 2)  # nothing that JSON has
    assert run.dropped == 1
    row = Run.objects.get()
    index(row.pk)
    assert StepMetrics.objects.get(step=2).metrics["reward/mean"] == 0.75
    assert Trajectory.objects.filter(step=2).count() == 3
    assert row.evaluations.get().successes == 61
    assert row.groups.get(step=1).detail["seeds"] == [0, 7]


def test_a_program_logs_as_with_other_trackers(shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARBOARD_SPOOL", str(shell / "spool"))
    run = starboard_client.init("lakes", name="far away", config={"lr": 1e-6, "dtype": float, "decay": float("inf")})
    starboard_client.log({"loss": 1.0})
    starboard_client.log({"loss": 0.5})
    assert run.url.endswith(f"/runs/{run.run_id}/")
    assert starboard_client.finish()
    row = Run.objects.get()
    assert row.config["reported"] == {"lr": 1e-6, "dtype": "<class 'float'>", "decay": "inf"}
    index(row.pk)
    assert list(row.steps.values_list("step", flat=True)) == [0, 1]
    with pytest.raises(StarboardError, match="No run has begun"):
        starboard_client.log({"loss": 1.0})


def test_a_run_that_begins_without_the_site_is_created_when_it_is_there(
    origin: str, token: str, shell: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shell / "spool"
    monkeypatch.setenv("STARBOARD_SPOOL", str(folder))
    run = Recorder("lakes", name="offline", starboard=Starboard(AWAY, "sb_x", retries=0))
    run.log({"loss": 1.0}, 1)
    assert (run.run_id, run.url) == ("", "")
    assert not run.finish(wait=1.0)
    run._spool.close()  # as the end of the program would
    [about] = folder.glob("*.json")
    about.write_text(about.read_text().replace(AWAY, origin))
    for _ in range(2):  # the second finds nothing
        assert main(["sync"]) == 0
    assert "1 lines" in capsys.readouterr().out
    row = Run.objects.get()
    assert (row.name, row.state, row.project.name) == ("offline", "finished", "lakes")


def test_a_run_is_continued_by_its_id(starboard: Starboard, tmp_path: Path) -> None:
    first = recorder(starboard, tmp_path)
    first.log({"loss": 1.0}, 1)
    first._leave()  # a program that ends without `finish`
    first._spool.close()
    with Recorder(run_id=first.run_id, starboard=starboard, folder=tmp_path / "spool") as again:
        again.log({"loss": 0.5}, 2)
    row = Run.objects.get()
    index(row.pk)
    assert [one.metrics for one in row.steps.order_by("step")] == [{"loss": 1.0}, {"loss": 0.5}]


KILLED = """
import sys, time
from starboard_client import Recorder
run = Recorder("lakes", source="trl", name="killed")
for step in range(1, 201):
    run.log({"loss": step / 10}, step)
    run.log_groups([[0, 1]], step)
time.sleep(1.5)  # some of it is sent
for step in range(201, 401):
    run.log({"loss": step / 10}, step)
time.sleep(0.3)  # and some only written
print(run.run_id, flush=True)
time.sleep(60)
"""


def test_a_killed_program_s_lines_arrive_once_a_day_later(
    shell: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shell / "spool"
    monkeypatch.setenv("STARBOARD_SPOOL", str(folder))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client")}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, env=environment, text=True
    ) as program:
        assert program.stdout is not None
        run_id = program.stdout.readline().strip()
        assert not list(spools(folder))  # in use: nobody else sends it
        os.kill(program.pid, signal.SIGKILL)
    Run.objects.filter(pk=run_id).update(last_heartbeat_at=timezone.now() - timedelta(days=1))
    [about] = folder.glob("*.json")
    kept = json.loads(about.read_text())
    about.write_text(json.dumps({**kept, "confirmed": 0}))  # killed before it could write down what had arrived
    assert main(["sync"]) == 0
    index(run_id)
    row = Run.objects.get(pk=run_id)
    assert (row.state, row.step, row.ingestion.received_seq) == ("reporting", 400, 600)
    assert list(row.steps.order_by("step").values_list("step", flat=True)) == list(range(1, 401))
    assert row.steps.get(step=200).metrics["loss"] == 20.0
    assert row.groups.count() == 200
    assert not list(folder.glob("*"))


def test_a_program_that_ends_by_an_error_fails_its_run(shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import starboard_client as s; s.init('lakes'); s.log({'loss': 1.0}); raise MemoryError('out of memory')"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client"), "STARBOARD_SPOOL": str(shell / "spool")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, text=True, check=False)
    assert done.returncode == 1, done.stderr
    row = Run.objects.get()
    assert (row.state, row.state_reason) == ("failed", "MemoryError: out of memory")


def test_what_a_site_did_not_take_is_sent_by_sync(
    shell: Path, starboard: Starboard, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shell / "spool"
    monkeypatch.setenv("STARBOARD_SPOOL", str(folder))
    run = starboard.create_external_run(source="verl")
    spool = Spool(folder, starboard.url, run.id, run_id=run.id)
    spool.append([f'{{"seq": {n}, "step": {n}, "metrics": {{"loss": {n}}}}}' for n in range(1, 6)])
    spool.end(Ending(succeeded=False, reason="Out of memory."))
    spool.close()
    starboard.send_lines(run.id, [b'{"seq": 1, "step": 1, "metrics": {"loss": 1}}\n'])  # arrived, and not confirmed
    assert main(["sync"]) == 0
    assert "5 lines" in capsys.readouterr().out
    assert not list(folder.glob("*.jsonl"))
    index(run.id)
    assert StepMetrics.objects.count() == 5
    assert Run.objects.get().state_reason == "Out of memory."


def test_sync_keeps_what_is_refused_and_goes_on(
    shell: Path, starboard: Starboard, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of three runs one was deleted on the site, one has ended although the answer to that was lost, one waits."""
    folder = shell / "spool"
    monkeypatch.setenv("STARBOARD_SPOOL", str(folder))
    gone, over, waits = (starboard.create_external_run(source="verl").id for _ in range(3))
    for run_id in (gone, over, waits):
        spool = Spool(folder, starboard.url, run_id, run_id=run_id)
        if run_id != over:
            spool.append(['{"seq": 1, "step": 1, "metrics": {"loss": 1}}'])
        spool.end(Ending(succeeded=True))
        spool.close()
    Run.objects.get(pk=gone).delete()
    starboard.finish_external_run(over)
    assert main(["sync"]) == 1
    shown = capsys.readouterr()
    assert f"{gone}: There is no run" in shown.err
    assert {line.partition(":")[0] for line in shown.out.splitlines()} == {over, waits}
    assert [file.stem for file in folder.glob("*.jsonl")] == [gone]
    assert set(Run.objects.values_list("state", flat=True)) == {"finished"}


def test_a_site_that_goes_away_costs_no_metrics(
    starboard: Starboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = recorder(starboard, tmp_path)
    run.log({"loss": 1.0}, 1)
    away = Starboard(AWAY, "sb_x", retries=0)
    monkeypatch.setattr(run, "_starboard", away)
    run.log({"loss": 2.0}, 2)
    assert not run.finish()
    assert "starboard sync" in capsys.readouterr().err
    run._spool.close()
    [kept] = spools(tmp_path / "spool")
    assert kept.run_id == run.run_id
    assert kept.ending == Ending(succeeded=True)
    batch = kept.next_batch()
    assert batch is not None
    assert b'"step":2' in batch.lines[-1]


def test_a_spool_goes_on_where_it_was_confirmed(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "http://a", "r1")
    spool.append(["1", "2"])
    batch = spool.next_batch()
    assert batch is not None
    spool.append(["3"])
    spool.confirm(batch)
    with pytest.raises(InUse):
        Spool(tmp_path, "http://a", "r1")
    spool.close()
    again = Spool(tmp_path, "http://a", "r1").next_batch()
    assert again is not None
    assert again.lines == [b"3\n"]
