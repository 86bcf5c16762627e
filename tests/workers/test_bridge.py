"""Events become rows: each exactly once, in one transaction with the offset, fenced, and reproducible from the file."""

from __future__ import annotations

import pytest

from engine.rollout.trajectory_files import read_record
from tests.workers.bridged_run import rows_of, run
from tests.workers.engine_record import Record, recorded
from tests.workers.workplace import seqs_in_rows
from webapp.evaluations.models import ProblemList
from webapp.evaluations.outcomes import tally_of
from webapp.live.reading import events_after
from webapp.run_pages.superseded import superseded_steps
from webapp.runs.models import Run
from webapp.trajectories import services
from webapp.trajectories.models import Trajectory, TrajectoryText
from workers import lease
from workers.bridge import Bridge
from workers.lease import Fenced
from workers.tail import read_chunk

__all__ = ["run"]

pytestmark = pytest.mark.django_db


def test_each_event_is_one_row_and_the_run_has_its_progress(run: Run) -> None:
    record = recorded(run, steps=1)
    record.step(2)
    record.file(run, 2)
    assert Bridge(run, 1).drain()
    run.refresh_from_db()
    assert (run.state, run.step, run.total_steps, run.tokens, run.seconds) == ("running", 2, 10, 200, 4.0)
    assert run.metrics == {"reward/mean": 0.2}
    assert run.event_offset == record.path.stat().st_size
    assert seqs_in_rows(run) == [1, 2, 3, 4]
    found = run.trajectories.get(member=1)
    assert (found.turns, found.response_tokens, found.parse_failures) == (3, 2, 1)
    assert read_record(run.directory / found.file, found.offset, found.length)["member"] == 1


def test_rows_of_a_removed_file_are_kept_and_marked(run: Run) -> None:
    record = recorded(run, steps=2, files=True)
    Bridge(run, 1).drain()
    record.event("trajectories_removed", step=2, paths=["trajectories/train/step_1.jsonl.zst"], bytes=10)
    Bridge(run, 1).drain()
    assert sorted(run.trajectories.values_list("step", "removed")) == [(1, True), (1, True), (2, False), (2, False)]


def test_a_loading_run_shows_its_wait_reason_until_it_continues(run: Run) -> None:
    record = Record(run)
    record.event("phase_changed", phase="loading", detail="needs 4 GPUs, 2 free of 8")
    Bridge(run, 1).drain()
    run.refresh_from_db()
    assert run.wait_reason == "needs 4 GPUs, 2 free of 8"
    record.started()
    record.event("phase_changed", phase="rollout", detail="")
    Bridge(run, 1).drain()
    run.refresh_from_db()
    assert run.wait_reason == ""


def test_reading_again_changes_nothing(run: Run) -> None:
    recorded(run, steps=1)
    Bridge(run, 1).drain()
    before = rows_of(run)
    assert not Bridge(run, 1).drain()
    Run.objects.filter(pk=run.pk).update(event_offset=0)
    run.refresh_from_db()
    assert Bridge(run, 1).drain()
    assert rows_of(run) == before


def test_the_outcomes_of_an_evaluation_are_in_its_row_whether_read_together_or_later(run: Run) -> None:
    record = recorded(run)
    record.evaluation(2)
    record.played(2)
    bridge = Bridge(run, 1)
    bridge.drain()
    record.evaluation(4)
    bridge.drain()
    record.played(4, solved="00000011")
    bridge.drain()
    found = [tally_of(row) for row in run.evaluations.order_by("step")]
    assert found[0] == {0: (1, 1), 1: (1, 1), **dict.fromkeys(range(2, 8), (1, 0))}
    assert found[1] == {6: (1, 1), 7: (1, 1), **dict.fromkeys(range(6), (1, 0))}
    assert ProblemList.objects.count() == 1
    assert not run.events.filter(kind="problems_played").exists()


def test_an_incomplete_last_line_is_read_once_complete(run: Run) -> None:
    record = recorded(run)
    whole = record.path.stat().st_size
    record.step(1)
    text = record.path.read_bytes()
    record.path.write_bytes(text[:-20])
    bridge = Bridge(run, 1)
    bridge.drain()
    assert (run.event_offset, run.last_seq) == (whole, 1)
    record.path.write_bytes(text)
    bridge.drain()
    assert (run.last_seq, run.step) == (2, 1)


def test_a_damaged_line_is_skipped_and_the_remaining_lines_are_read(run: Run) -> None:
    record = recorded(run)
    with record.path.open("ab") as file:
        file.write(b'{"kind": "step_comp\xff\n\n[1, 2]\n')
    record.step(1)
    Bridge(run, 1).drain()
    assert seqs_in_rows(run) == [1, 2]


def test_an_older_epoch_writes_nothing(run: Run) -> None:
    old = Bridge(Run.objects.get(pk=run.pk), 1)
    recorded(run)
    assert lease.seize(run.pk) == 2
    with pytest.raises(Fenced):
        old.drain()
    run.refresh_from_db()
    assert (run.events.count(), run.event_offset, run.state) == (0, 0, "starting")


def test_two_supervisors_of_one_epoch_cannot_both_write_a_chunk(run: Run) -> None:
    one, other = Bridge(Run.objects.get(pk=run.pk), 1), Bridge(Run.objects.get(pk=run.pk), 1)
    Record(run).started()
    one.drain()
    with pytest.raises(Fenced):
        other.drain()
    assert run.events.count() == 1


def test_events_of_an_engine_that_a_newer_attempt_replaced_are_refused(run: Run) -> None:
    record = recorded(run, steps=1)
    record.attempt = 2
    record.started(resumed_from=1)
    record.attempt = 1
    record.step(2)
    Bridge(run, 1).drain()
    assert list(run.steps.values_list("step", flat=True)) == [1]


@pytest.mark.parametrize("in_one_chunk", [True, False])
def test_a_resumed_attempt_replaces_the_steps_above_its_checkpoint(run: Run, in_one_chunk: bool) -> None:
    record = Record(run)
    bridge = Bridge(run, 1)
    record.started()
    for step in (1, 2, 3):
        record.groups(step, 0.5)
        record.step(step)
        record.file(run, step)
        record.evaluation(step)
    record.evaluation(3, final=True)
    if not in_one_chunk:
        bridge.drain()
    record.attempt = 2
    record.started(resumed_from=2)
    record.groups(3, 0.25)
    record.step(3)
    bridge.drain()
    assert list(run.steps.values_list("step", "attempt")) == [(1, 1), (2, 1), (3, 2)]
    assert list(run.groups.values_list("step", "attempt", "scores")) == [(1, 1, [0.5]), (2, 1, [0.5]), (3, 2, [0.25])]
    assert set(run.trajectories.values_list("step", flat=True)) == {1, 2}
    assert list(run.superseded_steps.values_list("step", "attempt", "superseded_by", "metrics")) == [
        (3, 1, 2, {"reward/mean": 0.3})
    ]
    assert list(run.evaluations.values_list("step", "final", "faults")) == [(1, False, 2), (2, False, 2)]


@pytest.mark.parametrize("in_one_chunk", [True, False])
def test_trajectories_of_repeated_steps_are_kept_and_marked_with_what_they_say(run: Run, in_one_chunk: bool) -> None:
    record = Record(run)
    bridge = Bridge(run, 1)
    record.started()
    for step in (1, 2):
        record.step(step)
        record.file(run, step)
    if not in_one_chunk:
        bridge.drain()
    record.attempt = 2
    record.started(resumed_from=1)
    record.step(2)
    record.file(run, 2, members=1)
    bridge.drain()
    assert sorted(run.trajectories.values_list("step", "attempt")) == [(1, 1), (1, 1), (2, 2)]
    superseded = Trajectory.all_attempts.filter(run=run, superseded=True)
    assert sorted(superseded.values_list("step", "attempt", "member")) == [(2, 1, 0), (2, 1, 1)]
    assert [services.record(row)["id"] for row in superseded.order_by("pk")] == ["train-2-0-0", "train-2-0-1"]
    assert TrajectoryText.objects.filter(run=run).count() == 5  # so that they can be searched


def test_superseded_trajectories_are_counted_with_the_steps_that_they_are_of(run: Run) -> None:
    record = Record(run)
    for attempt, begins, ends in ((1, 1, 4), (2, 4, 4), (3, 2, 2)):
        record.attempt = attempt
        record.started(resumed_from=begins - 1 or None)
        for step in range(begins, ends + 1):
            record.step(step)
            record.file(run, step)
    Bridge(run, 1).drain()
    # attempt 2 repeats step 4 of attempt 1; attempt 3 its steps 2 and 3, and step 4 of attempt 2
    found = [(one.attempt, one.by, one.first, one.last, one.trajectories) for one in superseded_steps(run)]
    assert found == [(1, 2, 4, 4, 2), (1, 3, 2, 3, 4), (2, 3, 4, 4, 2)]


def test_an_evaluation_that_a_later_attempt_repeats_supersedes_the_former(run: Run) -> None:
    """The first attempt was interrupted after its evaluation of step 1, whose checkpoint is older."""
    record = recorded(run)
    record.step(1)
    record.file(run, 1)
    record.attempt = 2
    record.started(resumed_from=1)
    record.file(run, 1)
    Bridge(run, 1).drain()
    assert set(run.trajectories.values_list("attempt", flat=True)) == {2}
    assert Trajectory.all_attempts.filter(run=run, superseded=True, attempt=1).count() == 2


def test_an_attempt_from_scratch_replaces_everything(run: Run) -> None:
    record = recorded(run)
    record.evaluation(0)
    record.step(1)
    record.attempt = 2
    record.started(resumed_from=None)
    Bridge(run, 1).drain()
    run.refresh_from_db()
    assert (run.steps.count(), run.evaluations.count(), run.step) == (0, 0, 0)


def test_events_before_a_file_are_stored_before_the_file_is_read(run: Run) -> None:
    record = recorded(run)
    record.step(1)
    record.file(run, 1)
    record.step(2)
    first = read_chunk(record.path, 0)
    assert [event.kind for event in first.events] == ["run_started", "step_completed"]
    rest = read_chunk(record.path, first.end)
    assert [event.kind for event in rest.events] == ["trajectories_recorded", "step_completed"]
    assert rest.end == record.path.stat().st_size


def test_a_rewritten_file_replaces_its_trajectories(run: Run) -> None:
    record = recorded(run)
    record.file(run, 1, members=3)
    record.file(run, 1, members=2)
    Bridge(run, 1).drain()
    assert run.trajectories.count() == 2


@pytest.mark.parametrize("path", ["trajectories/train/gone.jsonl.zst", "../elsewhere.jsonl.zst"])
def test_a_missing_or_outside_file_loses_only_its_trajectories(run: Run, path: str) -> None:
    record = recorded(run)
    record.event("trajectories_recorded", step=1, split="train", path=path, count=2)
    record.step(1)
    Bridge(run, 1).drain()
    assert (run.trajectories.count(), run.steps.count()) == (0, 1)


def test_rows_of_pruned_checkpoints_are_deleted(run: Run) -> None:
    record = recorded(run)
    for step in (1, 2):
        (run.directory / f"checkpoints/step_{step}").mkdir(parents=True)
        record.event("checkpoint_saved", step=step, path=f"checkpoints/step_{step}", bytes=9, reason="schedule")
    Bridge(run, 1).drain()
    (run.directory / "checkpoints/step_1").rmdir()
    (run.directory / "checkpoints/step_3").mkdir()
    record.event("checkpoint_saved", step=3, path="checkpoints/step_3", bytes=9, reason="final")
    Bridge(Run.objects.get(pk=run.pk), 1).drain()
    assert sorted(run.checkpoints.values_list("step", flat=True)) == [2, 3]


def test_a_nul_character_in_text_is_replaced(run: Run) -> None:
    record = Record(run)
    record.event("run_failed", error="EnvironmentFault", message="a\0b", remedy="", traceback="")
    Bridge(run, 1).drain()
    assert run.events.get().payload["message"] == "a\N{REPLACEMENT CHARACTER}b"


def test_the_groups_of_a_step_are_stored_in_their_own_row_and_not_sent_to_pages(run: Run) -> None:
    record = recorded(run)
    record.groups(1, 0.5, 0.0)
    record.step(1)
    Bridge(run, 1).drain()
    [row] = run.groups.all()
    assert (row.step, row.scores, row.kept, row.threshold) == (1, [0.5, 0.0], [0], 0.5)
    assert row.detail["returns"] == [[0.0, 0.5], [0.0, 0.0]]
    assert [event["kind"] for event in events_after(run, 0)] == ["run_started", "step_completed"]


def test_machine_metrics_are_kept_when_the_step_is_repeated(run: Run) -> None:
    record = recorded(run, steps=3)
    alert = {"severity": "warn", "message": "m", "metric": "time/update", "value": 60.0}
    for rule in ("cluster", "flat"):
        record.event("alert_raised", step=3, rule=rule, **alert)
    record.attempt = 2
    record.started(resumed_from=2)
    Bridge(run, 1).drain()
    assert list(run.alerts.values_list("rule", "step")) == [("cluster", 3)]


def test_400_steps_of_120_metrics_are_one_chunk_and_400_rows(run: Run) -> None:
    record = Record(run)
    record.started(total_steps=400)
    for step in range(1, 401):
        record.step(step, **{f"env/e{i}/success": i * step / 7 for i in range(120)})
    Bridge(run, 1).drain()
    assert run.steps.count() == 400
    assert run.steps.get(step=400).metrics["env/e7/success"] == 400.0


@pytest.mark.parametrize(
    ("before", "resumed", "requested"),
    [("run", False, "pause"), ("run", True, "run"), ("stop", False, "stop")],
    ids=["paused by an alert", "resumed since", "a stop stands"],
)
def test_a_pause_by_an_alert_equals_a_pause_by_the_user(run: Run, before: str, resumed: bool, requested: str) -> None:
    Run.objects.filter(pk=run.pk).update(requested=before)
    record = recorded(run, steps=1)
    record.event(
        "alert_raised", step=1, rule="r", severity="warn", message="m", metric="x/y", value=1.0, action="pause"
    )
    if resumed:
        record.step(2)
    assert Bridge(run, 1).drain()
    run.refresh_from_db()
    assert run.requested == requested


def test_every_metric_name_is_stored_once_for_any_step_and_supervisor(run: Run) -> None:
    record = recorded(run)
    record.step(1, **{"reward/mean": 0.1})
    Bridge(run, 1).drain()
    record.step(2, **{"reward/mean": 0.2, "collapse/mi_ratio": 0.5})
    record.step(3, **{"reward/mean": 0.3, "x" * 301: 1.0})  # longer than a page could list
    Bridge(run, 1).drain()
    assert list(run.metric_names.values_list("name", flat=True)) == ["collapse/mi_ratio", "reward/mean"]


def test_a_file_check_detects_unread_lines(run: Run) -> None:
    bridge = Bridge(run, 1)
    assert not bridge.has_unread_events()
    recorded(run)
    assert bridge.has_unread_events()
    bridge.drain()
    assert not bridge.has_unread_events()
