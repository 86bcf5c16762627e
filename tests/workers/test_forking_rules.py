"""Automatic actions of rules: each is audited, and a requested fork is launched exactly once."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.workers.engine_record import Record
from tests.workers.workplace import Workplace, config, wait_for, wait_for_state
from webapp.alerts.actions import generation_of, launch_fork
from webapp.audit.models import AuditEntry
from webapp.audit.services import entries
from webapp.runs.models import Checkpoint, Run
from webapp.runs.services import submit_run
from workers.bridge import Bridge


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "workplace" not in request.fixturenames:
        monkeypatch.setattr("webapp.runs.services.enqueue", lambda run_id: True)


@pytest.fixture
def parent(db: None, settings: Any, tmp_path: Any) -> Run:
    """Of 20 steps, with checkpoints at 5 and 10."""
    settings.RUNS_DIR = tmp_path / "runs"
    ada = User.objects.create_user("ada")
    run = submit_run(owner=ada, config=config(steps=20, restarts=2), name="calm-otter")
    for step in (5, 10):
        with_checkpoint(run, step)
    return run


def with_checkpoint(run: Run, step: int) -> None:
    path = f"checkpoints/step_{step}"
    (run.directory / path).mkdir(parents=True)
    (run.directory / path / "manifest.json").write_text("{}")
    Checkpoint.objects.create(run=run, step=step, path=path, bytes=1, reason="schedule", time=1.0)


def alert(record: Record, action: str, step: int = 1, rule: str = "broken") -> None:
    alert = {"severity": "critical", "message": "m", "metric": "x/y", "value": 1.0, "since": step, "action": action}
    record.event("alert_raised", step=step, rule=rule, **alert)


def audited(run: Run) -> list[tuple[str, str, str]]:
    rows = AuditEntry.objects.filter(run=run, action__startswith="rule_").order_by("pk")
    return [(row.who, row.action, row.outcome) for row in rows]


@pytest.mark.slow
def test_a_run_continues_as_a_fork_of_its_last_good_checkpoint_until_the_budget_is_spent(workplace: Workplace) -> None:
    workplace.start_worker()
    # checkpoints at 5 and at the end, 8; the alert holds since 6. The fork has 12 - 5 = 7 steps left, and so no step 8.
    parent = wait_for_state(workplace.submit(steps=12, name="calm-otter", fork_at=8, fork_since=6), "finished")
    fork = wait_for(lambda: Run.objects.exclude(pk=parent.pk).first(), what="a fork")
    assert (fork.name, fork.total_steps, fork.cloned_from) == ("calm-otter from step 5", 7, parent)
    assert fork.config["model"]["start_from"]["run"] == parent.pk
    assert fork.config["model"]["start_from"]["step"] == 5
    assert (fork.directory / "start" / parent.pk / "step_5" / "manifest.json").exists()
    assert parent.state_reason == "broken: It broke. The fork is calm-otter from step 5."
    assert audited(parent) == [("Starboard", "rule_fork", "done")]
    assert audited(fork) == [("Starboard", "rule_launch", "done")]
    wait_for_state(fork, "finished")
    assert Run.objects.count() == 2


def test_rule_actions_are_audited_once_under_starboard(parent: Run) -> None:
    record = Record(parent)
    record.started()
    record.step(1)
    for action in ("notify", "checkpoint", "pause", "stop"):
        alert(record, action)
    Bridge(parent, parent.epoch).drain()
    Bridge(Run.objects.get(pk=parent.pk), parent.epoch).drain()  # a worker that takes over reads nothing twice
    assert audited(parent) == [("Starboard", f"rule_{action}", "done") for action in ("checkpoint", "pause", "stop")]
    [newest, *_] = entries(parent)
    assert (newest["description"], newest["detail"]) == (
        "ended the run by a rule",
        "rule broken; step 1; severity critical",
    )


def test_a_fork_has_the_owner_and_current_settings_and_is_linked_in_both_runs(parent: Run) -> None:
    Run.objects.filter(pk=parent.pk).update(settings_changes={"optimizer.learning_rate": 1e-5}, settings_revision=1)
    parent.refresh_from_db()
    assert launch_fork(parent, before=11) == "The fork is calm-otter from step 10."
    fork = Run.objects.get(cloned_from=parent)
    assert (fork.owner, fork.total_steps) == (parent.owner, 10)
    # the rate that the run had last, times 0.3: without an alert that says more, updates were too large
    assert fork.parsed_config().optimizer.learning_rate == 3e-6
    assert "optimizer.learning_rate 1e-05 → 3e-06" in entries(fork)[0]["detail"]
    assert entries(fork)[0]["other"] == parent
    assert entries(parent)[0]["other"] == fork


def test_a_run_is_forked_by_rules_at_most_once(parent: Run) -> None:
    first = launch_fork(parent, before=6)
    assert launch_fork(parent, before=11) == first == "The fork is calm-otter from step 5."
    assert Run.objects.filter(cloned_from=parent).count() == 1
    assert audited(parent) == [("Starboard", "rule_fork", "done")]


def test_a_fork_whose_worker_ended_before_recording_it_is_recorded_later(
    parent: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("webapp.alerts.actions.record", leave)
    with pytest.raises(KeyboardInterrupt):
        launch_fork(parent, before=6)
    monkeypatch.undo()
    monkeypatch.setattr("webapp.runs.services.enqueue", lambda run_id: True)
    launch_fork(parent, before=6)
    assert Run.objects.filter(cloned_from=parent).count() == 1
    assert audited(parent) == [("Starboard", "rule_fork", "done")]


def test_without_a_good_checkpoint_there_is_no_fork_and_a_reason_is_recorded(parent: Run) -> None:
    assert launch_fork(parent, before=5) == "No fork was launched: no checkpoint from before step 5 is left."
    assert audited(parent) == [("Starboard", "rule_fork", "refused")]
    assert Run.objects.count() == 1


def test_a_chain_of_forks_ends_with_the_budget(parent: Run) -> None:
    run, line = parent, []
    for _ in range(3):  # of which the budget allows two
        line.append(launch_fork(run, before=6))
        run = Run.objects.filter(cloned_from=run).first() or run
        if not run.checkpoints.exists():
            with_checkpoint(run, 5)
    assert line == [
        "The fork is calm-otter from step 5.",
        "The fork is calm-otter from step 5 from step 5.",
        "No fork was launched: 2 forks by rules led to this run, and checkpoint.restarts allows 2.",
    ]
    assert generation_of(run) == 2


def test_a_fork_changes_what_the_alerts_of_the_run_blame(parent: Run) -> None:
    record = Record(parent)
    record.started()
    record.step(8)
    low = {"severity": "warn", "message": "m", "metric": "policy/entropy", "value": 0.1, "baseline": 1.0, "since": 6}
    record.event("alert_raised", step=8, rule="entropy_low", action="fork", fork_before=6, **low)
    Bridge(parent, parent.epoch).drain()
    before = parent.parsed_config()
    launch_fork(parent, before=6)
    fork = Run.objects.get(cloned_from=parent)
    assert fork.config["model"]["start_from"]["step"] == 5
    assert fork.parsed_config().loss.clip_high == max(0.28, before.loss.clip_high)
    assert fork.parsed_config().optimizer.updates_per_step == before.optimizer.updates_per_step
    [entry] = AuditEntry.objects.filter(run=fork, action="rule_launch")
    assert entry.detail["rule"] == "entropy_low"
    assert set(entry.detail["changes"]) == {"optimizer.learning_rate"}


@pytest.mark.parametrize(("rules", "launched"), [(["a", "b", "b", "b"], 2), (["a", "b", "c", "d"], 3)])
def test_after_two_forks_that_end_by_the_same_rule_there_is_no_third(
    parent: Run, rules: list[str], launched: int
) -> None:
    """The first is the rule of the original run; the budget allows three."""
    config = {**parent.config, "checkpoint": {**parent.config["checkpoint"], "restarts": 3}}
    Run.objects.filter(pk=parent.pk).update(config=config)
    run, sentence = Run.objects.get(pk=parent.pk), ""
    for rule in rules[:3] if launched == 3 else rules:
        record = Record(run)
        record.started()
        alert(record, "fork", step=6, rule=rule)
        Bridge(run, run.epoch).drain()
        sentence = launch_fork(run, before=6)
        run = Run.objects.filter(cloned_from=run).first() or run
        if not run.checkpoints.exists():
            with_checkpoint(run, 5)
    assert generation_of(run) == launched
    refused = "the last 2 forks by rules both ended by b, so another like them is unlikely to help"
    assert (refused in sentence) == (launched == 2)
