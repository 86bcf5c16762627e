"""`make run` shuts down in order even if its terminal was closed or nobody reads its output."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# the end of the launcher; only the command that saves the engines is replaced, by one that records its call
STOPPING = """
import pathlib, sys
from workers.launch.__main__ import Launcher
launcher = Launcher()
launcher.prepared = True
launcher._manage = lambda name, command: pathlib.Path(sys.argv[1]).write_text(name) and "1 run was suspended."
launcher.signals = 1
launcher._note_signal(1, None)
launcher._stop()
"""


def pipe_that_nobody_reads() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def closed_terminal() -> int:
    master, terminal = pty.openpty()
    os.close(master)
    return terminal


@pytest.mark.parametrize("output", [pipe_that_nobody_reads, closed_terminal])
def test_engines_save_even_without_a_terminal(output: Callable[[], int], tmp_path: Path) -> None:
    descriptor = output()
    command = [sys.executable, "-c", STOPPING, str(tmp_path / "requested")]
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=descriptor, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(descriptor)
    assert (tmp_path / "requested").exists(), done.stderr
    assert (tmp_path / "requested").read_text() == "suspend"
