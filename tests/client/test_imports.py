"""Imports of rollouts from Python and from a shell, against a served site; the imports are played by a real engine."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from pytest_django import Settings

from starboard_client import Starboard
from starboard_client.cli import main
from tests.engine.foreign.test_rollouts import verl
from webapp.launching.models import RolloutImport
from workers.imports import HeldImport


@pytest.fixture
def file(tmp_path: Path, settings: Settings) -> Path:
    settings.STARBOARD_ENGINE_COMMAND = None
    path = tmp_path / "20.jsonl"
    path.write_text("\n".join([verl(score=1), verl(score=0), "no rollout"]))
    return path


def play(pk: int) -> None:
    assert HeldImport.play(pk, threading.Event())


def test_a_file_is_imported_watched_and_listed(starboard: Starboard, file: Path) -> None:
    first = starboard.import_rollouts(file, name="from verl", key="k-1")
    assert starboard.import_rollouts(file, name="from verl", key="k-1").id == first.id
    assert (first.state, first.lines, first.run) == ("queued", 3, None)
    play(first.id)
    [ended] = starboard.watch_import(first.id, every=0.01)
    assert (ended.state, ended.accepted, ended.rejected, ended.rejected_lines[0].line) == ("finished", 2, 1, 3)
    assert ended.run is not None and starboard.run(ended.run).name == "from verl"
    second = starboard.import_rollouts(file)
    assert starboard.stop_import(second.id).state == "stopped"
    assert [one.id for one in starboard.imports()] == [second.id, first.id]
    assert [one.id for one in starboard.imports(state="finished", limit=1)] == [first.id]


def test_the_command_line_imports_and_shows(shell: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["imports", "create", str(file), "--name", "from verl", "--split", "train"]) == 0
    number = capsys.readouterr().out.strip()
    play(int(number))
    assert main(["imports", "watch", number, "--every", "0.01"]) == 0
    assert "finished: 3 of 3 lines read, 2 accepted, 1 rejected" in capsys.readouterr().err
    assert main(["imports", "show", number]) == 0
    assert "20.jsonl\t3\tit is not JSON" in capsys.readouterr().out
    assert main(["imports", "show", number, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == RolloutImport.objects.get().run_id
    assert main(["imports", "list"]) == 0
    assert capsys.readouterr().out.startswith(f"{number}\tfrom verl\tfinished\t2\t1\t")
    assert main(["imports", "stop", number]) == 0  # over: it stays as it is
    assert "finished" in capsys.readouterr().out
    assert main(["imports", "create", "nowhere.jsonl"]) == 1
