"""A run that has a record and no usable checkpoint ends as one that needs attention, until it is resumed."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from django.test import Client

from engine.config import RunConfig
from tests.workers.bridged_run import run
from tests.workers.engine_record import Record
from webapp.runs.models import Run
from webapp.runs.services import resume_ended
from webapp.runs.states import RunState
from webapp.runs.verdicts import status_of
from workers.limits import Limits
from workers.process import identify
from workers.supervisor import Supervisor

__all__ = ["run"]

pytestmark = pytest.mark.django_db


def end(run: Run, error: str) -> Run:
    """Its engine reports the error and exits; the run as its worker leaves it."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    identity = identify(process.pid, "cookie")
    assert identity is not None
    process.communicate(b"\n")
    Run.objects.filter(pk=run.pk).update(
        state=RunState.RUNNING, process=identity.as_row(), config=RunConfig().model_dump(mode="json")
    )
    record = Record(run)
    record.started()
    record.event("run_failed", error=error, message="No checkpoint of this run is usable: step_5 (torn).", remedy="")
    Supervisor(Run.objects.get(pk=run.pk), 1, threading.Event(), Limits(sweep=1.0)).supervise()
    return Run.objects.get(pk=run.pk)


def test_a_run_without_a_usable_checkpoint_needs_attention_on_lists_and_pages(run: Run, admin_client: Client) -> None:
    ended = end(run, "NoUsableCheckpoint")
    assert (ended.state, ended.shown_as, ended.live_state()["label"]) == (
        "failed",
        "needs_attention",
        "Needs attention",
    )
    assert status_of(ended).label == "Needs attention"
    assert "Needs attention" in admin_client.get("/runs/").content.decode()
    page = admin_client.get(f"/runs/{run.pk}/").content.decode()
    assert "step_5 (torn)" in page
    assert f'href="/runs/new/?clone={run.pk}">Clone from step 0' in page
    assert admin_client.get(f"/api/v1/runs/{run.pk}/").json()["label"] == "Needs attention"


def test_any_other_failure_does_not(run: Run, admin_client: Client) -> None:
    assert end(run, "CheckpointError").shown_as == "failed"
    assert "needs-attention" not in admin_client.get(f"/runs/{run.pk}/").content.decode()


def test_it_is_resumed_as_any_other_once_there_is_a_checkpoint_again(run: Run) -> None:
    ended = end(run, "NoUsableCheckpoint")
    assert resume_ended(ended)
    ended.refresh_from_db()
    assert (ended.shown_as, ended.needs_attention) == ("queued", False)
