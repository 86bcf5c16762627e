"""Real trainers that report to a real site, in environments of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.policies.model_paths import model_source
from tests.client.own_environments import python_of, run_in
from webapp.runs.models import Run
from workers.indexing import index

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_trl_s_grpo_trainer_reports_metrics_groups_and_trajectories(shell: Path) -> None:
    python = python_of("trl", "make setup-trl")
    output = shell / "output"
    run_in(python, PROGRAMS / "trl_training.py", model_source("tiny"), output, STARBOARD_SPOOL=str(shell / "spool"))
    run = Run.objects.get()
    index(run.pk)
    run.refresh_from_db()
    assert (run.name, run.state, run.imported_from, run.total_steps) == ("by TRL", "finished", "trl", 2)
    assert run.config["reported"]["num_generations"] == 4
    first = run.steps.order_by("step")[0]
    assert {"policy/entropy", "optim/grad_norm", "reward/mean", "reward/within_group_std"} <= first.metrics.keys()
    assert {"rollout/success", "rollout/zero_variance_share", "optim/learning_rate"} <= first.metrics.keys()
    assert 0 <= first.metrics["reward/mean"] <= 1
    assert run.trajectories.count() == 16  # two steps of two groups of four
    assert sorted(set(run.trajectories.values_list("group", "member")))[-1] == (1, 3)
    groups = run.groups.get(step=first.step)
    assert [len(returns) for returns in groups.detail["returns"]] == [4, 4]
    assert run.verdict["label"] in ("too_short", "too_early")


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_verl_s_tracking_has_a_backend_for_it(shell: Path) -> None:
    python = python_of("verl", "make setup-verl")
    run_in(python, PROGRAMS / "verl_tracking.py", STARBOARD_SPOOL=str(shell / "spool"))
    run = Run.objects.get()
    index(run.pk)
    run.refresh_from_db()
    assert (run.name, run.project.name, run.state, run.total_steps) == ("by verl", "lakes", "finished", 3)
    assert run.config["model"]["path"] == "a/model"
    assert run.metrics["policy/entropy"] == 0.5
    assert run.metrics["reward/mean"] == 0.75
    assert run.metrics["eval/lake/acc/mean@1"] == 0.5
