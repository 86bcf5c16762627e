"""Metrics of a training loop elsewhere: sent in the background, kept on disk without a site, and taken once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from starboard_client import Recorder, Starboard
from starboard_client.cli import main
from starboard_client.spool import Ending, Spool
from webapp.runs.models import Run, StepMetrics
from workers.indexing import index


def recorder(starboard: Starboard, folder: Path) -> Recorder:
    return Recorder("lakes", source="trl", name="far away", steps=50, starboard=starboard, folder=folder / "spool")


def test_a_loop_s_metrics_are_a_run(starboard: Starboard, tmp_path: Path) -> None:
    with recorder(starboard, tmp_path) as run:
        for step in range(1, 51):
            run.log({"rollout/success": step / 100, "loss": float("nan"), "note": "text"}, step)
        run.log({"huge": 10**400, "rows": [1, 2]}, 50)
    row = Run.objects.get()
    assert (row.name, row.state, row.project) == ("far away", "finished", "lakes")
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


def test_what_a_site_did_not_take_is_sent_by_sync(
    shell: Path, starboard: Starboard, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shell / "spool"
    monkeypatch.setenv("STARBOARD_SPOOL", str(folder))
    run = starboard.create_external_run(source="verl")
    spool = Spool(folder, starboard.url, run.id)
    spool.append([f'{{"seq": {n}, "step": {n}, "metrics": {{"loss": {n}}}}}' for n in range(1, 6)])
    spool.end(Ending(succeeded=False, reason="Out of memory."))
    starboard.send_lines(run.id, [b'{"seq": 1, "step": 1, "metrics": {"loss": 1}}\n'])  # arrived, and not confirmed
    assert main(["sync"]) == 0
    assert "5 lines" in capsys.readouterr().out
    assert not list(folder.glob("*.jsonl"))
    index(run.id)
    assert StepMetrics.objects.count() == 5
    assert Run.objects.get().state_reason == "Out of memory."


def test_a_site_that_goes_away_costs_no_metrics(
    starboard: Starboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = recorder(starboard, tmp_path)
    run.log({"loss": 1.0}, 1)
    away = Starboard("http://127.0.0.1:1", "sb_x", retries=0)
    monkeypatch.setattr(run, "_starboard", away)
    run.log({"loss": 2.0}, 2)
    assert not run.finish()
    assert "starboard sync" in capsys.readouterr().err
    kept = Spool(tmp_path / "spool", starboard.url, run.run.id)
    assert kept.ending == Ending(succeeded=True)
    batch = kept.next_batch()
    assert batch is not None
    assert b'"seq":2' in batch.lines[-1]


def test_a_spool_goes_on_where_it_was_confirmed(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "http://a", "r1")
    spool.append(["1", "2"])
    batch = spool.next_batch()
    assert batch is not None
    spool.append(["3"])
    spool.confirm(batch)
    again = Spool(tmp_path, "http://a", "r1").next_batch()
    assert again is not None
    assert again.lines == [b"3\n"]
