"""What the GPUs still hold of an ended run, with a program on the PATH that answers like `nvidia-smi`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers.workplace import Workplace, wait_for_state
from workers.endings import proof_of
from workers.gpus import gpus_without, sees_all_processes
from workers.process import COOKIE_VARIABLE, Sweep

DRIVER = """#!/bin/sh
case "$1" in
  --query-gpu=index,uuid) printf '%s\\n' "0, GPU-aaa" "1, GPU-bbb" ;;
  --query-compute-apps=gpu_uuid,pid) cat {held} ;;
  *) exit 6 ;;
esac
"""


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the fake driver lists as running on its two GPUs: lines of uuid and process id."""
    listed, folder = tmp_path / "held.csv", tmp_path / "bin"
    listed.write_text("GPU-aaa, 999999999\n")  # another process
    folder.mkdir()
    (folder / "nvidia-smi").write_text(DRIVER.format(held=listed))
    (folder / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return listed


@pytest.fixture
def carrier() -> Iterator[subprocess.Popen[bytes]]:
    """A process with a cookie."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={COOKIE_VARIABLE: "mine"})
    yield process
    process.kill()
    process.wait()


def test_gpus_with_only_other_processes_are_free(held: Path) -> None:
    assert gpus_without({4711}, "mine") == {"free": True, "description": "GPU 0 and 1 hold no process of it"}


def test_a_gpu_that_still_holds_a_killed_process_is_not_free(held: Path) -> None:
    held.write_text("GPU-bbb, 4711\n")
    gpus = gpus_without({4711}, "mine", seconds=0.3)
    assert gpus == {"free": False, "description": "GPU 1 still holds process 4711 of it"}
    proof = proof_of(Sweep(killed=[4711], left=[]), how="killed", exit_status=-9, time=1.0, gpus=gpus)
    assert (proof["proven"], proof["gpus"]) == (False, "GPU 1 still holds process 4711 of it")


def test_a_process_belongs_to_the_run_with_its_cookie(held: Path, carrier: subprocess.Popen[bytes]) -> None:
    held.write_text(f"GPU-aaa, {carrier.pid}\n")
    gpus = gpus_without(set(), "mine", seconds=0.3)
    assert gpus is not None and not gpus["free"]


def test_a_driver_that_frees_memory_late_is_polled_again(held: Path) -> None:
    held.write_text("GPU-bbb, 4711\n")
    subprocess.Popen(["sh", "-c", f"sleep 0.5; : > {held}"])
    began = time.monotonic()
    gpus = gpus_without({4711}, "mine", seconds=20)
    assert gpus is not None and gpus["free"] and time.monotonic() - began > 0.3


@pytest.mark.parametrize("listed", ["GPU-aaa, [N/A]\n", None], ids=["no numbers", "no answer"])
def test_unknown_driver_values_are_not_reported(held: Path, listed: str | None) -> None:
    held.unlink() if listed is None else held.write_text(listed)
    assert gpus_without({4711}, "mine") is None


def test_without_a_driver_gpus_are_not_mentioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus_without({4711}, "mine") is None
    proof = proof_of(Sweep(killed=[], left=[]), how="by itself", exit_status=0, time=1.0)
    assert proof["proven"] and "gpus" not in proof


@pytest.mark.slow
@pytest.mark.skipif(not sees_all_processes(), reason="the driver's numbers are not ours in a container")
def test_an_ended_run_reports_that_the_gpus_are_free(held: Path, workplace: Workplace) -> None:
    workplace.start_worker()
    run = wait_for_state(workplace.submit(steps=2), "finished")
    assert run.stop_proof["proven"] and run.stop_proof["gpus"] == "GPU 0 and 1 hold no process of it"
