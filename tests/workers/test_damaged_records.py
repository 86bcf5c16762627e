"""A damaged record loses the damaged lines and nothing else; what is wrong with it is shown on the run's page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import InternalError
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workers.bridged_run import rows_of, run
from tests.workers.engine_record import Record, recorded
from webapp.alerts.deliveries import message_of
from webapp.alerts.mail import as_text
from webapp.alerts.models import Delivery, NotificationSettings
from webapp.runs.models import Run
from workers import bridge
from workers.bridge import Bridge
from workers.rebuilding import rebuild
from workers.record_problems import Lag
from workers.rows import Rows

__all__ = ["run"]

pytestmark = pytest.mark.django_db


def problems(run: Run) -> list[tuple[str, str]]:
    return list(run.record_problems.order_by("pk").values_list("kind", "reason"))


def write(run: Run, *lines: dict[str, Any] | bytes) -> None:
    with (run.directory / "events.jsonl").open("ab") as file:
        for line in lines:
            file.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")


def step(seq: int, number: int, **changes: Any) -> dict[str, Any]:
    return {
        "kind": "step_completed", "seq": seq, "time": 1000.0, "attempt": 1, "epoch": 1, "step": number,
        "metrics": {"reward/mean": 0.5}, "tokens": 10, "seconds": 1.0, **changes,
    }  # fmt: skip


ABSURD: list[dict[str, Any] | bytes] = [
    step(3, 2, metrics={"reward/mean": float("nan")}),
    step(3, 2**31),
    step(3, 2, tokens=2**63),
    step(3, 2, time=1e20),
    step(3, 2, skipped="x" * 100_000),
    step(3, 2, metrics={"m" * 100_000: 1.0}),
    step(3, 2, kind="of_a_newer_version"),
    b'{"kind": "phase_changed", "seq": 3, "time": 1, "attempt": 1, "step": 2, "phase": "rollout", "detail": "\\ud800"}',
    b"\xff\xfe not even text",
    b"",
    {"kind": "alert_raised", "seq": 3, "time": 1.0, "attempt": 1, "step": 2, "rule": "r" * 61, "severity": "warn",
     "message": "", "metric": "m", "value": 1.0},
    {"kind": "checkpoint_saved", "seq": 3, "time": 1.0, "attempt": 1, "step": 2, "path": "p" * 10_000, "bytes": 1,
     "reason": "schedule"},
    {"kind": "settings_changed", "seq": 3, "time": 1.0, "attempt": 1, "step": 2, "revision": 1,
     "changes": {"steps": {"old": float("nan"), "new": 2**80}}},
]  # fmt: skip


@pytest.mark.parametrize("absurd", ABSURD, ids=lambda line: str(line)[:60])
def test_an_event_that_no_table_takes_is_isolated_and_all_others_are_stored(
    run: Run, absurd: dict[str, Any] | bytes
) -> None:
    record = recorded(run, steps=1)
    write(run, absurd)
    write(run, step(4, 3))
    Bridge(run, 1).drain()
    run.refresh_from_db()
    assert run.step == 3
    assert {1, 3} <= set(run.steps.values_list("step", flat=True))
    assert run.event_offset == record.path.stat().st_size
    stored = run.last_seq == 4 and (run.record_problems.exists() or _is_stored(run))
    assert stored, "neither a row nor a problem of the record"


def _is_stored(run: Run) -> bool:
    """SQLite limits no length of text, so it takes what PostgreSQL refuses."""
    return run.steps.filter(step=2).exists() or run.events.filter(seq=3).exists()


def test_an_event_whose_session_the_database_ends_is_stored_with_a_new_one(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL ends one that was suspended within a write, and Django has that as an `InternalError`. A file of
    trajectories is read as a chunk of its own, so there is nothing to halve."""
    record = recorded(run, steps=1)
    Bridge(run, 1).drain()
    record.file(run, 1)
    ended = [InternalError("terminating connection due to idle-in-transaction timeout")]

    def save_once_ended(rows: Rows) -> None:
        if ended:
            raise ended.pop()
        save(rows)

    save = bridge._save
    monkeypatch.setattr(bridge, "_save", save_once_ended)
    Bridge(run, 1).drain()
    assert not ended
    assert problems(run) == []
    assert run.trajectories.count() == 2


def test_missing_events_are_noticed(run: Run) -> None:
    Record(run).started()
    write(run, step(2, 1), step(10, 9))
    Bridge(run, 1).drain()
    assert problems(run) == [("gap", "7 events between 2 and 10 are not in the file.")]


def test_a_damaged_line_accounts_for_one_missing_number(run: Run) -> None:
    Record(run).started()
    write(run, step(2, 1), b"damaged")
    Bridge(run, 1).drain()
    write(run, step(4, 3))  # in another chunk
    Bridge(Run.objects.get(pk=run.pk), 1).drain()
    assert problems(run) == [("line", "The line is not complete JSON")]


def test_a_file_that_was_cut_is_noticed_and_its_rows_stay(run: Run) -> None:
    record = recorded(run, steps=2)
    bridge = Bridge(run, 1)
    bridge.drain()
    lines = record.path.read_bytes().splitlines(keepends=True)
    record.path.write_bytes(b"".join(lines[:-1]))
    bridge.drain()
    ((kind, reason),) = problems(run)
    assert kind == "replaced"
    assert "The file was cut or replaced" in reason
    assert run.steps.count() == 2


def only(run: Run, kind: str) -> str:
    (reason,) = [reason for found, reason in problems(run) if found == kind]
    return reason


def test_a_file_that_was_cut_and_written_on_beyond_what_was_read_is_noticed(run: Run) -> None:
    record = recorded(run)
    for number in (1, 2, 3):
        record.step(number)
    bridge = Bridge(run, 1)
    bridge.drain()  # events 1 to 4
    lines = record.path.read_bytes().splitlines(keepends=True)
    record.path.write_bytes(b"".join(lines[:2]))
    for number in (4, 5, 6, 7):
        record.step(number)
    assert record.path.stat().st_size > run.event_offset
    bridge.drain()
    assert only(run, "replaced").endswith("Events 3 to 4 can only be in the database.")
    assert [kind for kind, _ in problems(run)] == ["replaced"]
    assert list(run.steps.values_list("step", flat=True)) == [1, 2, 3, 4, 5, 6, 7]


def test_another_file_of_the_same_length_is_noticed(run: Run) -> None:
    record = recorded(run, steps=1)
    bridge = Bridge(run, 1)
    bridge.drain()
    other = record.path.with_name("other")
    other.write_bytes(record.path.read_bytes().replace(b"0.1", b"0.9").replace(b"1002.0", b"1003.0"))
    other.replace(record.path)
    assert record.path.stat().st_size == run.event_offset
    bridge.drain()
    assert "No number of an event is missing in it" in only(run, "replaced")
    assert only(run, "conflict").startswith("Event 2 came again with other contents")
    assert run.steps.get().metrics == {"reward/mean": 0.1}
    bridge.drain()
    assert len(problems(run)) == 2


def test_numbering_that_begins_again_is_noticed(run: Run) -> None:
    recorded(run, steps=1)
    Bridge(run, 1).drain()
    write(run, step(1, 7, attempt=2), step(2, 8, attempt=2))
    Bridge(Run.objects.get(pk=run.pk), 1).drain()
    assert only(run, "conflict").startswith("Events 1 to 2 came again with other contents")


def test_lines_that_come_again_unchanged_are_no_problem(run: Run) -> None:
    record = recorded(run, steps=1)
    Bridge(run, 1).drain()
    again = record.path.read_bytes()
    with record.path.open("ab") as file:
        file.write(again + again)
    Bridge(Run.objects.get(pk=run.pk), 1).drain()
    assert problems(run) == []


def test_a_deleted_file_is_noticed_once_and_people_are_notified_once(run: Run, admin_user: User) -> None:
    NotificationSettings.objects.create(user=admin_user, email="ada@example.org", email_on=True)
    record = recorded(run, steps=1)
    Bridge(run, 1).drain()
    record.path.unlink()
    for _ in range(2):
        Bridge(Run.objects.get(pk=run.pk), 1).drain()
    assert "Events 1 to 2 are only in the database" in only(run, "gone")
    delivery = Delivery.objects.get()
    subject, body = as_text(message_of(delivery))
    assert subject == "Starboard: damaged record: calm-otter-12"
    assert f"manage.py rebuild_run {run.pk}" in body


def test_a_directory_that_is_away_is_no_deleted_file(run: Run) -> None:
    recorded(run)
    Bridge(run, 1).drain()
    run.directory.rename(run.directory.with_name("away"))
    Bridge(Run.objects.get(pk=run.pk), 1).drain()
    assert problems(run) == []


def test_an_event_of_an_unknown_kind_is_stored_as_it_is(run: Run) -> None:
    Record(run).started()
    newer = json.dumps(step(2, 1, kind="power_measured", watts=[250] * 2000)).encode()
    write(run, newer, step(3, 1))
    Bridge(run, 1).drain()
    problem = run.record_problems.get()
    assert (problem.kind, problem.reason) == ("newer", "The event's kind 'power_measured' is not known to this version")
    assert problem.line.encode() == newer  # 12 kB
    assert run.steps.count() == 1


def test_fields_of_a_newer_version_are_stored_with_their_event_or_named_once(run: Run) -> None:
    record = recorded(run)
    record.event("phase_changed", step=1, phase="rollout", detail="", watts=250)
    write(run, step(3, 1, watts=250), step(4, 2, watts=260))
    Bridge(run, 1).drain()
    write(run, step(5, 3, watts=270))
    Bridge(Run.objects.get(pk=run.pk), 1).drain()
    assert run.events.get(kind="phase_changed").payload["watts"] == 250
    assert problems(run) == [
        ("newer", "Fields of step_completed that this version does not know: watts. They are only in the file.")
    ]
    assert json.loads(run.record_problems.get().line)["watts"] == 250
    assert run.steps.count() == 3


@pytest.mark.parametrize("in_one_chunk", [True, False])
def test_events_of_an_engine_that_was_replaced_are_listed_and_not_stored(run: Run, in_one_chunk: bool) -> None:
    record = recorded(run, steps=1)
    record.attempt = 2
    record.started(resumed_from=1)
    if not in_one_chunk:
        Bridge(run, 1).drain()
    start = record.path.stat().st_size
    write(run, step(4, 2, attempt=1), step(5, 3, attempt=1), step(6, 2, attempt=2))
    Bridge(Run.objects.get(pk=run.pk), 1).drain()
    (problem,) = run.record_problems.all()
    assert (problem.kind, problem.offset) == ("late", start)
    assert problem.reason.startswith("2 events of an earlier attempt came after attempt 2 had started.")
    assert list(run.steps.order_by("step").values_list("step", "seq")) == [(1, 2), (2, 6)]


def test_rebuilding_finds_the_same_problems_once(run: Run) -> None:
    recorded(run)
    write(run, b"damaged", step(5, 2))
    Bridge(run, 1).drain()
    before = rows_of(run), problems(run)
    rebuild(run.pk)
    run.refresh_from_db()
    assert (rows_of(run), problems(run)) == before
    assert [kind for kind, _ in problems(run)] == ["line", "gap"]


def test_endless_damage_fills_no_database(run: Run) -> None:
    Record(run).started()
    write(run, *[b"x"] * 1500)
    Bridge(run, 1).drain()
    assert run.record_problems.count() == 1000


def test_a_loss_is_listed_and_notified_once_however_many_lines_are_damaged(run: Run, admin_user: User) -> None:
    NotificationSettings.objects.create(user=admin_user, email="ada@example.org", email_on=True)
    Record(run).started()
    write(run, *[b"x"] * 1000)
    Bridge(run, 1).drain()
    for seq in (1500, 3000, 4500):  # each leaves out more events than damaged lines may have been
        write(run, step(seq, 1))
        Bridge(Run.objects.get(pk=run.pk), 1).drain()
    assert only(run, "gap") == "1498 events between 1 and 1500 are not in the file."
    assert Delivery.objects.count() == 1
    assert run.record_problems.count() == 1001


def test_nobody_is_advised_to_rebuild_the_rows_from_a_file_that_is_gone(run: Run, admin_user: User) -> None:
    NotificationSettings.objects.create(user=admin_user, email="ada@example.org", email_on=True)
    record = recorded(run)
    Bridge(run, 1).drain()
    record.path.unlink()
    Bridge(Run.objects.get(pk=run.pk), 1).drain()
    detail = message_of(Delivery.objects.get())["data"]
    assert detail["remedy"] == (
        f"Bring the file back from a backup, then run manage.py rebuild_run {run.pk}. Without it, leave the rows as "
        "they are: those of events that no file has cannot be made again."
    )


def test_the_page_of_the_run_shows_what_is_wrong(run: Run, admin_client: Client) -> None:
    from engine.config import RunConfig

    Run.objects.filter(pk=run.pk).update(config=RunConfig().model_dump(mode="json"))
    Record(run).started()
    write(run, b"<script>alert(1)</script>", step(3, 2))
    Bridge(run, 1).drain()
    page = admin_client.get(f"/runs/{run.pk}/").content.decode()
    assert "1 problem in the record of this run: The line is not complete JSON" in page
    assert f"manage.py rebuild_run {run.pk}" in page
    assert "<script>alert(1)" not in page


events = st.lists(
    st.one_of(
        st.just("good"),
        st.sampled_from(ABSURD),
        st.binary(max_size=40).filter(lambda data: b"\n" not in data),
        st.builds(lambda time: ("time", time), st.floats()),
        st.builds(lambda tokens: ("tokens", tokens), st.integers()),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=events)
def test_whatever_comes_between_them_good_events_are_stored(run: Run, tmp_path: Path, lines: list[Any]) -> None:
    fresh = Run.objects.create(name="calm-otter-13", config={}, state="starting", epoch=1)
    record = Record(fresh)
    record.started()
    good, seq = [], 1
    for line in lines:
        seq += 1
        match line:
            case "good":
                good.append(seq)
                write(fresh, step(seq, seq))
            case (str(name), value):
                write(fresh, step(2**62, 1, attempt=1, **{name: value}) | {"seq": seq, "step": 0})
            case dict():
                write(fresh, {**line, "seq": seq})
            case _:
                write(fresh, line)
    Bridge(fresh, 1).drain()
    fresh.refresh_from_db()
    assert fresh.event_offset == record.path.stat().st_size
    assert set(good) <= set(fresh.steps.values_list("step", flat=True))
    assert lines_in_no_row(fresh, record.path.read_bytes()) == []


def lines_in_no_row(run: Run, data: bytes) -> list[bytes]:
    """Neither an event nor a problem that the page shows. Of a step that comes twice the later event is kept."""
    listed = set(run.record_problems.values_list("offset", flat=True))
    stored = {*run.events.values_list("seq", flat=True), *run.steps.values_list("seq", flat=True)}
    steps = set(run.steps.values_list("step", flat=True))
    found, offset = [], 0
    for line in data.split(b"\n")[:-1]:
        if offset not in listed:
            event = json.loads(line)
            if event["seq"] not in stored and event.get("step") not in steps:
                found.append(line)
        offset += len(line) + 1
    return found


def test_a_lag_is_reported_once_when_it_lasts() -> None:
    lag = Lag(60.0)
    assert not lag.observe(10, 10, now=0.0)
    assert not lag.observe(12, 10, now=5.0)  # behind since now
    assert not lag.observe(20, 12, now=50.0)  # 12 has come; 20 has not
    assert not lag.observe(30, 12, now=100.0)  # 50 s later
    assert lag.observe(30, 12, now=111.0)
    assert not lag.observe(40, 12, now=200.0)
