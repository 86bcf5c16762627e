"""Checkpoints, forks, environments, projects and the queue by the client and by the command line."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from starboard_client import Starboard
from starboard_client.cli import main
from tests.webapp.api.test_forks import trained
from webapp.environments.models import EnvironmentDefinition
from webapp.runs.models import RecordProblem, Run
from webapp.runs.states import RunState


def test_a_checkpoint_is_listed_downloaded_and_forked(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained()
    assert main(["runs", "checkpoints", run.pk]) == 0
    assert capsys.readouterr().out == "40\t3\tschedule\n"
    file = shell / "weights.tar"
    assert main(["runs", "checkpoints", run.pk, "--download", "40", "-o", str(file)]) == 0
    with tarfile.open(file) as archive:
        assert f"{run.pk}-step_40/model/model.safetensors" in archive.getnames()
    assert main(["runs", "checkpoints", run.pk, "--download", "20", "-o", str(shell / "none.tar")]) == 1
    assert not (shell / "none.tar").exists()
    capsys.readouterr()
    assert main(["runs", "fork", run.pk, "40", "--set", "steps=5", "--tag", "short"]) == 0
    made = Run.objects.get(pk=capsys.readouterr().out.strip())
    assert (made.forked_from_id, made.total_steps, made.tags.get().name) == (run.pk, 5, "short")
    assert main(["runs", "again", run.pk]) == 0
    assert Run.objects.filter(cloned_from=run).count() == 2  # the fork, and the same again


def test_a_run_is_labelled_moved_and_deleted(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained()
    assert main(["runs", "label", run.pk]) == 1
    assert main(["runs", "label", run.pk, "--project", "lakes", "--tag", "a", "--tag", "b"]) == 0
    assert main(["runs", "label", run.pk, "--no-tags", "--notes", "done"]) == 0
    run.refresh_from_db()
    assert (run.project.name, run.tags.count(), run.notes) == ("lakes", 0, "done")
    first, second = (Starboard().launch(preset="starter").id for _ in range(2))
    assert main(["runs", "move", second, "1"]) == 0
    capsys.readouterr()
    assert main(["queue"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(row[0], row[1]) for row in rows] == [("1", second), ("2", first)]
    assert main(["runs", "set", run.pk, "optimizer.learning_rate=1e-5"]) == 1  # it has ended
    RecordProblem.objects.create(run=run, kind="gap", offset=12, reason="2 events are missing.")
    capsys.readouterr()
    assert main(["runs", "alerts", run.pk]) == 0
    assert capsys.readouterr() == ("", "Problem of the record, at byte 12: 2 events are missing.\n")
    assert main(["runs", "delete", run.pk]) == 1
    assert Run.objects.filter(pk=run.pk, state=RunState.FINISHED).exists()
    assert main(["runs", "delete", run.pk, "--yes"]) == 0
    assert not Run.objects.filter(pk=run.pk).exists()


def test_environments_and_projects_by_the_command_line(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = shell / "lake.toml"
    file.write_text('kind = "frozen_lake"\n[parameters]\nsize = 3\n')
    assert main(["environments", "create", "Small", str(file)]) == 0
    pk = capsys.readouterr().out.strip()
    assert EnvironmentDefinition.objects.get(pk=pk).latest.config["parameters"] == {"size": 3}
    file.write_text('kind = "frozen_lake"\n[parameters]\nsize = 5\n')
    assert main(["environments", "edit", pk, str(file)]) == 0
    assert main(["environments", "show", pk]) == 0
    assert '"size": 5' in capsys.readouterr().out
    assert main(["environments", "list", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["Small"]
    assert main(["environments", "preflight", pk, "--timeout", "0.1", "--every", "0.05"]) == 3  # no worker plays it
    assert main(["projects", "create", "Lakes"]) == 0
    assert main(["projects", "list"]) == 0
    assert "Lakes\tlakes\tadmin\t0" in capsys.readouterr().out.splitlines()
    assert main(["environments", "create", "Small", str(shell / "none.toml")]) == 1
