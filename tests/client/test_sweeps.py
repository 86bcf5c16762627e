"""Sweeps from Python and from a shell, against a served site."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from starboard_client import Invalid, Starboard
from starboard_client.cli import main
from tests.webapp.api.test_sweeps import DEFINITION, TOML
from tests.webapp.sweeps.sweeping import finish
from webapp.sweeps.models import Sweep


def test_a_sweep_is_planned_created_watched_and_extended(starboard: Starboard) -> None:
    assert starboard.plan_sweep(definition=DEFINITION).runs == 4
    assert not Sweep.objects.exists()
    one = starboard.create_sweep(definition=DEFINITION, key="k-1")
    assert starboard.create_sweep(definition=DEFINITION, key="k-1").id == one.id
    assert [sweep.id for sweep in starboard.sweeps(state="running")] == [one.id]
    assert starboard.change_sweep(one.id, at_once=2).counts.live == 2
    finish(Sweep.objects.get(), lambda row: 50)
    [ended] = starboard.watch_sweep(one.id, every=0.01)
    assert ended.ended and ended.counts.finished == 4
    found = starboard.sweep(one.id)
    assert found.best is not None and found.best.estimate.mean == 0.5
    assert starboard.extend_sweep(one.id, seeds=[3]).added == 2
    assert starboard.control_sweep(one.id, "stop").state == "stopped"
    with pytest.raises(Invalid, match="base"):
        starboard.create_sweep(definition={**DEFINITION, "base": "nope"})


def test_the_command_line_plans_creates_and_shows(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = shell / "kl.toml"
    file.write_text(TOML)
    assert main(["sweeps", "plan", str(file)]) == 0
    plan = capsys.readouterr()
    assert plan.out == "1\t0\n2\t0.1\n"
    assert "4 runs, 20 steps" in plan.err and "the time is unknown" in plan.err
    assert main(["sweeps", "create", str(file), "--seeds", "1-3", "--at-once", "2"]) == 0
    number = capsys.readouterr().out.strip()
    sweep = Sweep.objects.get(pk=number)
    assert (sweep.at_once, sweep.parsed_plan().seeds) == (2, [1, 2, 3])
    finish(sweep, lambda row: 50 if row.labels["loss.kl_coefficient"] == "0" else 40)
    assert main(["sweeps", "watch", number, "--every", "0.01"]) == 0
    assert main(["sweeps", "show", number]) == 0
    shown = capsys.readouterr().out
    assert "0\t0.5\t3" in shown and "best of 2: loss.kl_coefficient = 0: 0.5" in shown
    assert main(["sweeps", "extend", number, "--values", "loss.kl_coefficient=0.2", "--seeds", "4"]) == 0
    assert "6 runs added." in capsys.readouterr().out
    assert main(["sweeps", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["counts"]["total"] == 12
    assert main(["sweeps", "stop", number]) == 0
    assert main(["sweeps", "create", "--preset", "nope"]) == 1
    assert main(["sweeps", "plan", str(shell / "none.toml")]) == 1
