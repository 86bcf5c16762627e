"""Who killed an engine, by the kernel's own log and count: processes here really run out of memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from workers import memory_killer
from workers.endings import ending_of
from workers.memory_killer import MemoryKiller, kills
from workers.process import Identity, identify

HUNGRY = "import sys; sys.stdin.read(1); bytearray(400 << 20)"
PATIENT = "import sys; sys.stdin.read(1)"
CONTROLLERS = {  # the folder of memory's control groups, and the limit in each
    Path("/sys/fs/cgroup/memory"): "memory.limit_in_bytes",
    Path("/sys/fs/cgroup/unified"): "memory.max",
    Path("/sys/fs/cgroup"): "memory.max",
}


@pytest.fixture
def small_memory() -> Iterator[Path]:
    """A control group whose processes may have 64 MiB."""
    for folder, limit in CONTROLLERS.items():
        group = folder / f"starboard-test-{uuid.uuid4().hex[:8]}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / limit).exists():
            (group / limit).write_text(str(64 << 20))
            yield group
            group.rmdir()
            return
        group.rmdir()
    pytest.skip("this user may create no control group that limits memory")


def a_process(code: str) -> tuple[subprocess.Popen[bytes], Identity]:
    """One that waits for a byte first."""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    identity = identify(process.pid, "a cookie")
    assert identity is not None
    return process, identity


def out_of_memory(group: Path) -> tuple[int, Identity]:
    """The exit status of a process of the group that asks for more than it may have."""
    process, identity = a_process(HUNGRY)
    (group / "cgroup.procs").write_text(str(process.pid))
    process.communicate(b"\n", timeout=60)
    return process.returncode, identity


def test_a_process_that_ran_out_of_memory_is_named_by_the_kernel_s_log(small_memory: Path) -> None:
    watch = MemoryKiller()
    status, identity = out_of_memory(small_memory)
    assert status == -signal.SIGKILL
    report = watch.report_on(identity, status)
    assert report.startswith("The kernel ended it because memory ran out: Memory cgroup out of memory: Killed process")
    assert f" {identity.pid} " in report
    assert watch.report_on(identity, None) == report  # also of an engine whose exit status nobody has
    ending = ending_of(
        None, status, begun=True, stop_requested=False, interrupted=False, log="", killer=report
    )  # fmt: skip
    assert ending.remedy.startswith("Lower rollout.groups")


def test_a_younger_process_with_the_same_id_is_not_meant(small_memory: Path) -> None:
    status, identity = out_of_memory(small_memory)
    later = replace(identity, start_time=identity.start_time + 1000 * os.sysconf("SC_CLK_TCK"))
    assert MemoryKiller().report_on(later, status) == (
        "Neither Starboard nor the kernel's memory killer sent it: another program or user did."
    )


def test_without_the_log_the_kernel_s_count_says_how_many_it_was(
    small_memory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory_killer, "KERNEL_LOG", tmp_path / "none")  # as for a user who may not read it
    watch, before = MemoryKiller(), kills()
    status, identity = out_of_memory(small_memory)
    now = kills()
    assert before is not None and now is not None
    assert f"The kernel ended {now - before} of this machine's processes" in watch.report_on(identity, status)
    assert watch.report_on(identity, None) == ""


def test_a_process_that_somebody_killed_was_not_killed_by_the_kernel() -> None:
    watch = MemoryKiller()
    process, identity = a_process(PATIENT)
    process.kill()
    process.communicate(timeout=60)
    assert watch.report_on(identity, process.returncode) == (
        "Neither Starboard nor the kernel's memory killer sent it: another program or user did."
    )
    assert watch.report_on(identity, 0) == watch.report_on(identity, -signal.SIGSEGV) == ""
