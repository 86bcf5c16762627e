"""A log that grows without end takes at most twice its limit."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from workers.engine_log import cap

WRITER = """
import sys, time
for number in range(200_000):
    sys.stdout.write(f"line {number}\\n")
    sys.stdout.flush()
"""


def test_a_log_within_its_limit_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_bytes(b"x" * 100)
    assert not cap(log, most=100)
    assert log.stat().st_size == 100


def test_a_longer_log_becomes_the_previous_one(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_bytes(b"x" * 101)
    assert cap(log, most=100)
    assert log.stat().st_size == 0
    assert (tmp_path / "engine.log.1").read_bytes() == b"x" * 101


def test_a_program_that_writes_meanwhile_continues_in_the_new_log(tmp_path: Path) -> None:
    log, most = tmp_path / "engine.log", 100_000
    with log.open("ab") as output:
        writer = subprocess.Popen([sys.executable, "-c", WRITER], stdout=output)
    capped = 0
    while writer.poll() is None:
        capped += cap(log, most=most)
        time.sleep(0.001)
    assert writer.returncode == 0
    assert capped > 1
    cap(log, most=most)
    assert log.stat().st_size <= most
    lines = [line for name in ("engine.log.1", "engine.log") for line in (tmp_path / name).read_text().splitlines()]
    assert "line 199999" in lines


def test_a_missing_log_is_no_error(tmp_path: Path) -> None:
    assert not cap(tmp_path / "engine.log")
