"""Site, workers, Redis, engines and their keepers are killed in one instant, as by a power cut. What starts afterwards
continues every run from its checkpoint, with rows that are what the files say.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from engine.config import RunConfig
from tests.launch.deployment import Deployment, wait_for
from tests.launch.installation import free_port

pytestmark = pytest.mark.slow

RUNS, STEPS, TRAJECTORIES = 2, 40, 6  # of a step of the stand-in engine
SETTINGS = {"DJANGO_SETTINGS_MODULE": "benchmarks.paced_settings"}
ROWS = """
import json
from webapp.runs.models import Run
print(json.dumps([
    {
        "state": run.state, "attempt": run.attempt, "last_seq": run.last_seq, "offset": run.event_offset,
        "problems": run.record_problems.count(), "trajectories": run.trajectories.count(),
        "steps": list(run.steps.order_by("step").values_list("step", "seq", "attempt")),
        "events": list(run.events.order_by("seq").values_list("seq", "kind", "attempt")),
    }
    for run in Run.objects.order_by("pk")
]))
"""


def test_every_run_continues_after_all_processes_were_killed_in_one_instant(tmp_path: Path) -> None:
    port = free_port()
    with Deployment(tmp_path, STARBOARD_MAX_PARALLEL_RUNS=str(RUNS)) as one:
        one.start_redis()
        one.prepare()
        one.start_site(port)
        one.start_worker(**SETTINGS)
        config = RunConfig.model_validate({"steps": STEPS, "description": "step_seconds=0.2"})
        runs = sorted(one.submit(config, f"paced-{number}") for number in range(RUNS))
        files = [tmp_path / "data" / "runs" / run / "events.jsonl" for run in runs]
        wait_for(lambda: all(file.exists() and b"checkpoint_saved" in file.read_bytes() for file in files), "saves")

        pids = processes_of(one)
        assert len(pids) >= 3 + 2 * RUNS, "Redis, site, worker, and of each run an engine and its keeper"
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in one.processes:
            process.wait()
        wait_for(lambda: not processes_of(one), "the end of all of them")

        one.start_redis()
        one.start_site(port)
        one.start_worker(**SETTINGS)
        finished = "from webapp.runs.models import Run; print(Run.objects.filter(state='finished').count())"
        wait_for(lambda: one.ask(finished).endswith(str(RUNS)), "runs that have finished")
        found = rows(one)
        for row, file in zip(found, files, strict=True):
            assert (row["attempt"], row["problems"]) == (2, 0)
            assert [step for step, _, _ in row["steps"]] == list(range(1, STEPS + 1))
            assert {attempt for _, _, attempt in row["steps"]} == {1, 2}
            assert row["trajectories"] == STEPS * TRAJECTORIES
            assert row["offset"] == file.stat().st_size
            assert row["last_seq"] == json.loads(file.read_bytes().splitlines()[-1])["seq"]
        for run in runs:
            one.manage("rebuild_run", run)
        assert rows(one) == found


def rows(one: Deployment) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(one.ask(ROWS).splitlines()[-1])
    return found


def processes_of(one: Deployment) -> list[int]:
    """Those that it has started, and engines and keepers, which name a run directory of it."""
    found = [process.pid for process in one.processes if process.poll() is None]
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(one.directory / "data" / "runs") in entry.read_text():
                found.append(int(entry.parent.name))
    return found
