"""The lock of a run directory: one engine at a time, and a passing look keeps none out."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path

import pytest

from engine.errors import RunDirectoryError
from engine.training.run_directory import RunDirectory


def test_a_directory_that_another_engine_holds_is_refused_until_it_is_closed(tmp_path: Path) -> None:
    first = RunDirectory(tmp_path)
    with pytest.raises(RunDirectoryError, match="Another engine is running"):
        RunDirectory(tmp_path)
    first.close()
    RunDirectory(tmp_path).close()


def test_who_looks_at_the_lock_for_an_instant_keeps_no_engine_out(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("a") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        end = threading.Timer(0.2, lambda: fcntl.flock(looking, fcntl.LOCK_UN))
        end.start()
        RunDirectory(tmp_path).close()
        end.join()
