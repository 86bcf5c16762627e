"""Where an engine hangs: of real processes that hang, that are suspended, or that dump no stacks."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine import process_snapshots
from workers.process import Identity, identify
from workers.stall_report import where_it_hangs

HANGING = """
import sys, time
from pathlib import Path
from engine.process_snapshots import dump_stacks_on_signal

def wait_for_a_download():
    print("hanging", flush=True); time.sleep(600)  # on one line: who reads the word may look before the sleep begins

if sys.argv[2] == "dumps":
    dump_stacks_on_signal(Path(sys.argv[1]) / "stacks" / "engine.txt")
wait_for_a_download()
"""


@contextmanager
def hanging(folder: Path, kind: str) -> Iterator[tuple[subprocess.Popen[str], Identity]]:
    command = [sys.executable, "-c", HANGING, str(folder), kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "hanging\n"
    identity = identify(process.pid, "a cookie")
    assert identity is not None
    try:
        yield process, identity
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def no_py_spy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_snapshots, "py_spy_path", lambda: None)  # as where it is not installed


@pytest.mark.usefixtures("no_py_spy")
def test_the_function_that_hangs_is_named_by_python_s_own_dump(tmp_path: Path) -> None:
    with hanging(tmp_path, "dumps") as (_, engine):
        found = where_it_hangs(tmp_path, engine)
    assert found.startswith("It is in wait_for_a_download in <string>:7; ")
    assert "wait_for_a_download" in (tmp_path / "stacks/engine.txt").read_text()


@pytest.mark.skipif(process_snapshots.py_spy_path() is None, reason="py-spy is not installed")
def test_py_spy_names_it_also_while_the_process_is_suspended(tmp_path: Path) -> None:
    with hanging(tmp_path, "silent") as (process, engine):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        found = where_it_hangs(tmp_path, engine)
    assert found.startswith("Its process is stopped by a signal. It is in wait_for_a_download (<string>:7); ")


@pytest.mark.usefixtures("no_py_spy")
def test_a_process_that_dumps_no_stacks_is_not_signalled(tmp_path: Path) -> None:
    # SIGUSR1 would end it
    with hanging(tmp_path, "silent") as (process, engine):
        assert where_it_hangs(tmp_path, engine) == ""
        assert process.poll() is None


def test_a_directory_that_takes_no_file_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "stacks").write_text("in the way")
    with hanging(tmp_path, "silent") as (_, engine):
        assert where_it_hangs(tmp_path, engine) == ""
