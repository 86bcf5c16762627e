"""The benchmarks of lists fill our tables and ask for our pages: with few rows they still find what they ask for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from django.test import Client

from benchmarks import run_lists
from benchmarks.reader_opening import session
from benchmarks.recording import a_token
from tests.builders.runs import build_run
from tests.launch.installation import REPOSITORY


@pytest.mark.django_db
def test_session_and_token_of_the_benchmarks_read_the_runs_that_they_make() -> None:
    cookie, token = session(), a_token()
    build_run()
    for headers in ({"Cookie": f"{cookie['name']}={cookie['value']}"}, {"Authorization": f"Bearer {token}"}):
        answer = Client().get("/api/v1/runs/", headers=headers)
        assert len(answer.json()["runs"]) == 1


@pytest.mark.slow
@pytest.mark.django_db
def test_each_page_of_runs_and_of_the_leaderboard_has_rows() -> None:
    assert run_lists.measure(60, repeats=1).keys() == run_lists.PAGES.keys()


@pytest.mark.slow
def test_each_page_of_trajectories_has_rows() -> None:
    command = [sys.executable, "-m", "benchmarks.trajectory_list", "--rows", "2000", "--repeats", "1"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["milliseconds"]) == 31
    assert found["database"] == "sqlite"
