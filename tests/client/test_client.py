"""The Python client against a served site: what it reads, launches and steers, and how it is refused."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from starboard_client import AuthenticationError, Conflict, Invalid, NotFound, Run, Starboard, StarboardError
from starboard_client import client as client_module
from tests.builders.recorded_run import RecordedRun
from tests.builders.suites import suite_evaluation, suite_version
from tests.webapp.runs.rows import a_run
from webapp.accounts.models import PersonalToken
from webapp.audit.models import AuditEntry
from webapp.runs.models import RecordProblem
from webapp.runs.models import Run as Row
from webapp.runs.states import RunState


def test_runs_are_read_page_by_page(starboard: Starboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "RUNS_AT_ONCE", 2)
    for number in range(5):
        a_run(f"run {number}")
    assert [run.name for run in starboard.runs()] == ["run 4", "run 3", "run 2", "run 1", "run 0"]
    assert [run.name for run in starboard.runs(limit=3)] == ["run 4", "run 3", "run 2"]
    assert [run.name for run in starboard.runs(name="run 1")] == ["run 1"]
    assert list(starboard.runs(state="failed")) == []


def test_a_launched_run_is_labelled_steered_and_named_after_the_token(starboard: Starboard) -> None:
    run = starboard.launch(preset="starter", overrides={"steps": 9}, name="nine", project="lakes", tags=["a"])
    assert (run.state, run.total_steps, run.config["steps"], run.project) == ("queued", 9, 9, "lakes")
    changed = starboard.change_settings(run.id, {"optimizer.learning_rate": 1e-5})
    assert changed["optimizer.learning_rate"]["new"] == 1e-5
    assert starboard.label(run.id, tags=["b", "c"], notes="Two.").tags == ["b", "c"]
    stopped = starboard.control(run.id, "stop")
    assert (stopped.state, stopped.ended, stopped.succeeded) == ("stopped", True, False)
    entries = AuditEntry.objects.filter(run_id=run.id)
    assert {entry.action for entry in entries} == {"launch", "label", "settings", "stop"}
    assert {entry.token for entry in entries} == {"laptop"}


def test_the_same_key_launches_once(starboard: Starboard) -> None:
    first, second = (starboard.launch(preset="starter", key="k") for _ in range(2))
    assert first == second
    assert Row.objects.count() == 1
    with pytest.raises(Invalid, match="another body"):
        starboard.launch(preset="collapse", key="k")


def test_problems_of_the_record_are_listed_as_they_were_found(starboard: Starboard) -> None:
    run = a_run()
    assert starboard.record_problems(run.pk) == []
    RecordProblem.objects.create(run=run, kind="gap", offset=12, reason="2 events are missing.")
    RecordProblem.objects.create(run=run, kind="line", offset=7, reason="Not JSON.")
    found = [(one.kind, one.offset, one.reason) for one in starboard.record_problems(run.pk)]
    assert found == [("gap", 12, "2 events are missing."), ("line", 7, "Not JSON.")]


def test_a_run_is_watched_to_its_end(starboard: Starboard) -> None:
    recorded = RecordedRun(steps=3)
    recorded.take_steps(3)
    recorded.finish()
    found = list(starboard.watch(recorded.run.pk, every=0.01))
    steps = [one["step"] for one in found if isinstance(one, dict) and one["kind"] == "step_completed"]
    assert steps == [1, 2, 3]
    last = found[-1]
    assert isinstance(last, Run)
    assert (last.state, last.succeeded) == ("finished", True)


def test_events_metrics_verdict_and_log_are_what_the_run_reported(
    starboard: Starboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "EVENTS_AT_ONCE", 5)
    recorded = RecordedRun()
    recorded.take_steps(12)
    recorded.deliver()
    run_id = recorded.run.pk
    found = list(starboard.events(run_id))
    assert [event["step"] for event in found if event["kind"] == "step_completed"] == list(range(1, 13))
    assert [event["seq"] for event in found] == sorted({event["seq"] for event in found})
    assert "rollout/success" in starboard.metric_names(run_id)
    columns = starboard.metrics(run_id, ["rollout/success", "no/such"], first=3, last=5)
    assert columns.steps == [3, 4, 5]
    assert columns.series["no/such"] == [None, None, None]
    assert starboard.verdict(run_id)["label"] == starboard.run(run_id).model_dump()["health"]["label"]
    (recorded.run.directory / "engine.log").write_text("one\n")
    piece = starboard.log(run_id)
    assert (piece.text, piece.end, piece.size) == ("one\n", 4, 4)
    assert starboard.log(run_id, after=4).text == ""


def test_refusals_say_what_is_wrong_and_what_to_do(starboard: Starboard, origin: str, token: str) -> None:
    run = a_run(state=RunState.FINISHED)
    with pytest.raises(NotFound, match="There is no run 'nope'"):
        starboard.run("nope")
    with pytest.raises(Conflict, match="Cannot pause a run that is finished"):
        starboard.control(run.pk, "pause")
    with pytest.raises(Invalid) as refused:
        starboard.launch(config={"steps": 0})
    assert list(refused.value.errors) == ["steps"]
    PersonalToken.objects.update(scopes=["read"])
    with pytest.raises(AuthenticationError, match="lacks the scope 'launch'"):
        starboard.launch(preset="starter")
    with pytest.raises(AuthenticationError, match="mistyped") as unknown:
        list(Starboard(origin, "sb_wrong").runs())
    assert "sb_wrong" not in str(unknown.value)
    with pytest.raises(NotFound, match="STARBOARD_URL"):
        list(Starboard(f"{origin}/elsewhere", token).runs())


def test_a_client_waits_as_long_as_the_site_asks(
    starboard: Starboard, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.API_REQUESTS_PER_MINUTE = {"read": 1, "launch": 1, "ingest": 1}
    waits: list[float] = []

    def wait(seconds: float) -> None:
        """A minute passes at once."""
        waits.append(seconds)
        settings.API_REQUESTS_PER_MINUTE = {"read": 100, "launch": 1, "ingest": 1}

    monkeypatch.setattr(starboard._http, "_sleep", wait)
    for _ in range(2):
        list(starboard.runs())
    assert len(waits) == 1
    assert 1 <= waits[0] <= 61


def test_without_address_or_token_the_error_says_where_they_come_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("STARBOARD_URL", raising=False)
    monkeypatch.delenv("STARBOARD_TOKEN", raising=False)
    with pytest.raises(StarboardError, match="starboard login"):
        Starboard()
    with pytest.raises(StarboardError, match="no token for https://a"):
        Starboard("https://a.example")
    with pytest.raises(StarboardError, match="Give the whole address"):
        Starboard("a.example", "sb_x")


def test_the_leaderboard_is_read_page_by_page(starboard: Starboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "ENTRIES_AT_ONCE", 2)
    rows = [
        suite_evaluation({"Bandit": list(solved)}, version=suite_version(), model=f"/models/{solved}")
        for solved in ("1111", "0111", "1000")
    ]
    assert starboard.leaderboards() == {"bandits": 3}
    assert [entry.name for entry in starboard.entries("bandits")] == ["1111", "0111", "1000"]
    assert [entry.evaluation for entry in starboard.entries(limit=1)] == [rows[0].pk]
    pair = starboard.compare_entries(rows[1].pk, rows[2].pk)
    assert ([one["index"] for one in pair.more_by_first], len(pair.more_by_other)) == ([1, 2, 3], 1)
    with pytest.raises(NotFound, match="no entries"):
        list(starboard.entries("unknown"))


def test_a_report_is_written_changed_and_shared(starboard: Starboard) -> None:
    made = starboard.create_report("Learning rates", "One.")
    changed = starboard.change_report(made, text="Two.")
    assert (changed.title, changed.text, changed.version) == ("Learning rates", "Two.", 2)
    with pytest.raises(Conflict, match="changed meanwhile"):
        starboard.change_report(made, text="Three.")
    assert "/reports/shared/" in (starboard.share_report(made.id).link or "")
    assert starboard.share_report(made.id, shared=False).link is None
    assert [one.title for one in starboard.reports()] == ["Learning rates"]
    starboard.delete_report(made.id)
    assert list(starboard.reports()) == []


def test_groups_of_runs_have_a_mean_and_a_band(starboard: Starboard) -> None:
    runs = [RecordedRun(name=name) for name in ("a", "b")]
    for run in runs:
        run.take_steps(3)
        run.deliver()
    curves = starboard.curves([run.run.pk for run in runs], ["rollout/success"])
    assert [one.steps for one in curves.values()] == [[1, 2, 3]] * 2
    assert [len(one.series["rollout/success"].mean) for one in curves.values()] == [3, 3]
    (found,) = starboard.group_curves([[run.run.pk for run in runs]], ["rollout/success"], band="minmax")
    curve = found["rollout/success"]
    assert (curve.steps, curve.count) == ([1, 2, 3], [2, 2, 2])
