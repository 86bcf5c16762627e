"""Processes that are forked from a template behave as those that `subprocess` starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm_python
from tests.warm_python import REPOSITORY

SCRIPT = """
import os, sys
print(__name__, sys.argv, os.getcwd(), os.environ.get("NEW"), os.environ.get("OLD"), repr(sys.stdin.read()))
sys.stderr.write("said")
sys.exit(3)
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "script.py").write_text(SCRIPT)
    return str(tmp_path / "script.py")


def test_it_has_the_arguments_environment_directory_output_and_status_of_a_process(
    script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLD", "of the template, if this test is the first")
    environment = {"PATH": os.environ["PATH"], "NEW": "variable"}
    forked = warm_python.run([script, "--an", "option"], env=environment, timeout=60)
    command = [sys.executable, script, "--an", "option"]
    executed = subprocess.run(
        command, cwd=REPOSITORY, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (forked.returncode, forked.stdout, forked.stderr) == (3, executed.stdout, executed.stderr)
    with pytest.raises(subprocess.CalledProcessError):
        warm_python.run([script], env=environment, timeout=60, check=True)


def test_it_can_be_waited_for_and_killed(tmp_path: Path) -> None:
    (tmp_path / "sleep.py").write_text("import time; time.sleep(100)")
    with (tmp_path / "log").open("wb") as log:
        one, other = (warm_python.start([str(tmp_path / "sleep.py")], env={}, stdout=log, stderr=log) for _ in range(2))
    with pytest.raises(subprocess.TimeoutExpired):
        one.wait(0.2)
    assert one.poll() is None
    one.kill()
    assert one.wait(30) == -signal.SIGKILL
    assert other.poll() is None
    other.terminate()
    assert other.wait(30) == other.poll() == -signal.SIGTERM
    assert not Path(f"/proc/{one.pid}").exists()


def test_a_library_to_preload_is_given_to_the_loader(script: str) -> None:
    said = warm_python.run([script], env={"LD_PRELOAD": "/no/library.so"}, timeout=60).stderr
    assert "/no/library.so" in said and "cannot be preloaded" in said
