"""A lost database: run directories become runs again, with their names, their rows and their lineage."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from engine.config import RunConfig
from tests.workers.bridged_run import rows_of, run
from tests.workers.engine_record import Record
from webapp.members.choices import project_named
from webapp.runs.labels import label
from webapp.runs.models import Run
from workers.about_run import write_about
from workers.adopting import adopt_all
from workers.bridge import Bridge
from workers.control import write_json

__all__ = ["run"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def trained(run: Run) -> Run:
    """Two steps of an attempt that was cut off, then a third by its second attempt."""
    run.owner = User.objects.create_user("ada")
    run.config = RunConfig().model_dump(mode="json")
    run.project, run.notes = project_named(None, "lakes"), "first try"
    run.save()
    label(run, None, tags=["baseline", "cpu"])
    record = Record(run)
    record.started()
    for step in (1, 2):
        record.step(step)
        record.file(run, step)
    record.attempt = 2
    record.started(resumed_from=2)
    record.step(3)
    record.evaluation(3)
    write_json(run.directory / "config.json", run.config)
    Bridge(run, 1).drain()
    write_about(run)
    run.refresh_from_db()
    return run


def lose_the_database() -> None:
    Run.objects.all().delete()


def adopted() -> dict[str, Run]:
    found = list(adopt_all(Path(_runs())))
    assert not [one.refused for one in found if one.run is None]
    return {one.run.pk: one.run for one in found if one.run is not None}


def _runs() -> str:
    from django.conf import settings

    return str(settings.RUNS_DIR)


def test_an_adopted_run_has_the_rows_and_labels_that_it_had(trained: Run) -> None:
    before, key = rows_of(trained), trained.pk
    lose_the_database()
    found = adopted()[key]
    after = rows_of(found)
    changed = {"state", "state_reason", "end_cause", "attempt", "finished_at", "started_at", "queued_at"}
    for table in before:
        if table == "run":
            kept = {name: value for name, value in before["run"].items() if name not in changed}
            assert {name: after["run"][name] for name in kept} == kept
        else:
            assert after[table] == before[table]
    assert (found.name, found.project.name, found.notes) == ("calm-otter-12", "lakes", "first try")
    assert found.owner == User.objects.get(username="ada")
    assert sorted(found.tags.values_list("name", flat=True)) == ["baseline", "cpu"]
    assert (found.step, found.attempt) == (3, 2)


def test_a_run_that_was_cut_off_is_stopped_and_can_be_resumed(trained: Run) -> None:
    lose_the_database()
    (found,) = adopted().values()
    assert (found.state, found.state_reason.partition(".")[0]) == ("stopped", "The database was lost while it ran")


@pytest.mark.parametrize(
    ("ending", "state"),
    [
        ({"kind": "run_finished", "outcome": "completed", "reason": "All steps are done."}, "finished"),
        ({"kind": "run_finished", "outcome": "stopped", "reason": "Stopped on request."}, "stopped"),
        ({"kind": "run_failed", "error": "EnvironmentFault", "message": "the ice broke"}, "failed"),
    ],
)
def test_a_run_that_had_ended_has_its_end(run: Run, ending: dict[str, Any], state: str) -> None:
    record = Record(run)
    record.started()
    record.step(1)
    record.event(step=1, **ending)
    write_json(run.directory / "config.json", RunConfig().model_dump(mode="json"))
    lose_the_database()
    (found,) = adopted().values()
    assert found.state == state
    assert found.name  # there is no about.json: a new name


def test_a_run_that_was_evaluated_after_its_end_has_its_end(run: Run) -> None:
    record = Record(run)
    record.started()
    record.step(1)
    record.event("run_finished", step=1, outcome="completed", reason="All steps are done.", rule="entropy")
    ended = 1000.0 + record.seq  # the time of that event
    record.played(1)
    write_json(run.directory / "config.json", RunConfig().model_dump(mode="json"))
    lose_the_database()
    (found,) = adopted().values()
    assert (found.state, found.state_reason, found.end_cause) == ("finished", "All steps are done.", "rule")
    assert found.finished_at is not None
    assert found.finished_at.timestamp() == ended


def test_a_run_that_was_resumed_after_its_end_and_cut_off_is_stopped(run: Run) -> None:
    record = Record(run)
    record.started()
    record.event("run_finished", step=1, outcome="stopped", reason="Stopped on request.")
    record.attempt = 2
    record.started(resumed_from=0)
    record.step(1)
    write_json(run.directory / "config.json", RunConfig().model_dump(mode="json"))
    lose_the_database()
    (found,) = adopted().values()
    assert (found.state, found.state_reason.partition(".")[0]) == ("stopped", "The database was lost while it ran")


def test_a_fork_finds_its_parent_again(trained: Run) -> None:
    config = RunConfig().model_dump(mode="json")
    config["model"]["start_from"] = {**config["model"]["start_from"], "run": trained.pk, "step": 2}
    fork = Run.objects.create(pk="0000000000", name="fork", config=config, state="starting", epoch=1)
    Record(fork).started()
    write_json(fork.directory / "config.json", config)
    write_about(fork)
    lose_the_database()
    found = adopted()
    assert found["0000000000"].forked_from == found[trained.pk]
    assert found["0000000000"].fork_step == 2


def test_runs_in_the_database_and_running_engines_are_left_alone(
    trained: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("adopt_runs")
    assert capsys.readouterr().out == "0 runs adopted.\n"
    lose_the_database()
    with (trained.directory / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        call_command("adopt_runs")
    printed = capsys.readouterr()
    assert "its engine is running" in printed.err
    assert not Run.objects.exists()


@pytest.mark.parametrize("config", ["{", json.dumps({"steps": "many"}), None])
def test_a_directory_without_a_usable_configuration_is_named(
    trained: Run, config: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    file = trained.directory / "config.json"
    file.unlink() if config is None else file.write_text(config)
    lose_the_database()
    call_command("adopt_runs")
    assert f"{trained.pk}: not adopted" in capsys.readouterr().err
