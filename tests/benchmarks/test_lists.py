"""The benchmarks of lists fill our tables and ask for our pages: with few rows they still find what they ask for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.launch.installation import REPOSITORY

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("command", "pages"),
    [
        (["benchmarks.run_lists", "--runs", "200"], 18),
        (["benchmarks.trajectory_list", "--rows", "2000"], 21),
    ],
    ids=lambda given: given[0].partition(".")[2] if isinstance(given, list) else "",
)
def test_each_page_has_rows(command: list[str], pages: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["milliseconds"]) == pages
    assert found["database"] == "sqlite"
