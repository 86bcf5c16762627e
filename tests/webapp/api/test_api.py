"""The REST API as clients use it: pages of runs, events without gaps, metric columns, requests, and clear refusals."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from engine.config import EnvironmentConfig, RunConfig
from engine.events import PhaseChanged
from tests.builders.recorded_run import RecordedRun
from tests.builders.suites import suite_evaluation
from tests.webapp.event_rows import add_event
from tests.webapp.sweeps.sweeping import a_sweep, end, queued
from webapp.api.catalogue import ENDPOINTS
from webapp.api.endpoints import Endpoint, Media
from webapp.api.openapi import openapi
from webapp.environments.models import Preflight
from webapp.environments.services import define
from webapp.launching.models import RolloutImport
from webapp.reports.models import Report
from webapp.runs.models import ListedRun, MetricName, Run, StepMetrics
from webapp.runs.states import Request, RunState
from webapp.sweeps.models import Sweep
from webapp.whatif.models import WhatIf

pytestmark = pytest.mark.django_db

RUNS = "/api/v1/runs/"


@pytest.fixture
def api(client: Client) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


@pytest.fixture
def recorded(runs_directory: Path) -> RecordedRun:
    return RecordedRun(steps=60)


def a_run(name: str = "calm-otter-12", state: RunState = RunState.RUNNING) -> Run:
    return Run.objects.create(name=name, state=state, config=RunConfig().model_dump(mode="json"), total_steps=60)


def report(run: Run, events: int) -> None:
    """Events with seq 1, 3, 5, … and steps with seq 2, 4, 6, …; `events` in total."""
    for seq in range(1, events + 1):
        if seq % 2:
            add_event(run, PhaseChanged(step=seq, phase="rollout"), seq=seq, time=float(seq))
        else:
            StepMetrics.objects.create(
                run=run, seq=seq, step=seq // 2, time=seq, tokens=10 * seq, seconds=seq, metrics={"reward/mean": seq}
            )
        Run.objects.filter(pk=run.pk).update(last_seq=seq)


def control(api: Client, run: Run, action: object) -> Any:
    return api.post(f"{RUNS}{run.pk}/control", json.dumps({"action": action}), content_type="application/json")


def test_runs_are_listed_newest_first_without_overlapping_pages(api: Client) -> None:
    for number in range(5):
        a_run(f"run {number}")
    first = api.get(RUNS, {"limit": 2}).json()
    assert [run["name"] for run in first["runs"]] == ["run 4", "run 3"]
    second = api.get(RUNS, {"limit": 3, "after": first["next"]}).json()
    assert [run["name"] for run in second["runs"]] == ["run 2", "run 1", "run 0"]
    assert second["next"] is None


def test_runs_of_the_same_moment_are_on_one_page_each(api: Client) -> None:
    now = timezone.now()
    for number in range(3):
        Run.objects.create(name=f"run {number}", config=RunConfig().model_dump(mode="json"), created_at=now)
    seen: list[str] = []
    after = ""
    for _ in range(3):
        page = api.get(RUNS, {"limit": "1", "after": after}).json()
        seen += [run["name"] for run in page["runs"]]
        after = page["next"]
    assert after is None
    assert sorted(seen) == ["run 0", "run 1", "run 2"]


def named(answer: Any) -> list[tuple[str, Any]]:
    return [(run["name"], run["sort_value"]) for run in answer["runs"]]


@pytest.mark.parametrize(
    ("sort", "found"),
    [
        ("-last:reward/mean", [("high", 2.5), ("newer", 1.0), ("older", 1.0), ("without", None)]),
        ("last:reward/mean", [("newer", 1.0), ("older", 1.0), ("high", 2.5), ("without", None)]),
        ("-highest:reward/mean", [("older", 7.0), ("high", 2.5), ("newer", 1.0), ("without", None)]),
        ("name", [("high", "high"), ("newer", "newer"), ("older", "older"), ("without", "without")]),
    ],
)
def test_runs_are_sorted_by_a_column_or_metric_over_pages_of_any_size(api: Client, sort: str, found: object) -> None:
    for name, last, highest in (("older", 1.0, 7.0), ("high", 2.5, 2.5), ("without", None, None), ("newer", 1.0, 1.0)):
        run = a_run(name)
        if last is not None:
            MetricName.objects.create(run=run, name="reward/mean", last=last, lowest=last, highest=highest)
    assert named(api.get(RUNS, {"sort": sort}).json()) == found
    seen, after = [], ""
    while after is not None:
        page = api.get(RUNS, {"sort": sort, "limit": 1, "after": after}).json()
        seen += named(page)
        after = page["next"]
    assert seen == found


def test_runs_are_sorted_by_times_over_pages(api: Client) -> None:
    for day in (1, 3, 2):
        Run.objects.filter(pk=a_run(f"day {day}").pk).update(started_at=datetime(2026, 1, day, tzinfo=UTC))
    first = api.get(RUNS, {"sort": "-started", "limit": 1}).json()
    second = api.get(RUNS, {"sort": "-started", "after": first["next"]}).json()
    assert [run["name"] for run in first["runs"] + second["runs"]] == ["day 3", "day 2", "day 1"]
    assert first["runs"][0]["sort_value"] == "2026-01-03T00:00:00+00:00"


def test_a_list_is_sorted_by_nothing_else(api: Client) -> None:
    answer = api.get(RUNS, {"sort": "-colour"})
    assert answer.status_code == 400
    assert "'-colour' is no column of the list of runs. Send one of state, name" in str(answer.json())


@pytest.mark.parametrize("value", ["[]", '"\\u0000"', "1e999", '"word"', "NaN"])
def test_a_cursor_with_another_kind_of_value_is_refused(api: Client, value: str) -> None:
    for _ in range(2):
        a_run()
    cursor = api.get(RUNS, {"sort": "last:reward/mean", "limit": 1}).json()["next"]
    made_with, _, *position = json.loads(base64.urlsafe_b64decode(cursor + "=="))
    changed = f'["{made_with}", {value}, {json.dumps(position)[1:-1]}]'
    after = base64.urlsafe_b64encode(changed.encode()).decode()
    answer = api.get(RUNS, {"sort": "last:reward/mean", "after": after})
    assert answer.status_code == 400
    assert "not a cursor" in answer.json()["error"]


def test_runs_with_all_words_are_found(api: Client) -> None:
    for name in ("calm otter", "eager otter"):
        a_run(name)
    for run in Run.objects.select_related("project"):
        ListedRun.of(run, ["paper"]).save()
    assert [run["name"] for run in api.get(RUNS, {"q": "Paper calm"}).json()["runs"]] == ["calm otter"]


def test_a_cursor_is_refused_with_other_filters(api: Client) -> None:
    for _ in range(2):
        a_run()
    cursor = api.get(RUNS, {"limit": 1}).json()["next"]
    answer = api.get(RUNS, {"limit": 1, "after": cursor, "state": "running"})
    assert answer.status_code == 400
    assert "other filters" in answer.json()["error"]


def test_runs_can_be_filtered_by_state(api: Client) -> None:
    a_run("live")
    a_run("over", RunState.FINISHED)
    assert [run["name"] for run in api.get(RUNS, {"state": "finished"}).json()["runs"]] == ["over"]


def test_a_run_has_the_submitted_configuration(api: Client) -> None:
    run = a_run()
    found = api.get(f"{RUNS}{run.pk}/").json()
    assert RunConfig.model_validate(found["config"]) == RunConfig()
    assert (found["id"], found["state"], found["label"]) == (run.pk, "running", "Running")


def test_paging_through_events_returns_each_exactly_once(api: Client) -> None:
    run = a_run()
    report(run, 11)
    seen, after, more = [], 0, True
    while more:
        page = api.get(f"{RUNS}{run.pk}/events", {"after": after, "limit": 4}).json()
        seen += [event["seq"] for event in page["events"]]
        after, more = page["last_seq"], page["more"]
    assert seen == list(range(1, 12))
    assert api.get(f"{RUNS}{run.pk}/events", {"after": after}).json() == {"events": [], "last_seq": 11, "more": False}


def test_a_step_is_returned_as_an_event(api: Client) -> None:
    run = a_run()
    report(run, 2)
    _, step = api.get(f"{RUNS}{run.pk}/events").json()["events"]
    assert (step["kind"], step["seq"], step["metrics"]) == ("step_completed", 2, {"reward/mean": 2})


def test_metrics_are_columns_with_null_where_a_step_has_none(api: Client) -> None:
    run = a_run()
    report(run, 6)
    found = api.get(f"{RUNS}{run.pk}/metrics", {"keys": "reward/mean,eval/x/success"}).json()
    assert found["steps"] == [1, 2, 3]
    assert found["tokens"] == [20, 40, 60]
    assert found["series"] == {"reward/mean": [2, 4, 6], "eval/x/success": [None, None, None]}


def test_a_pause_is_requested_and_shown(api: Client) -> None:
    run = a_run()
    assert control(api, run, "pause").json()["requested"] == "pause"
    run.refresh_from_db()
    assert run.requested == Request.PAUSE


def test_an_action_that_the_state_does_not_allow_is_a_409_that_names_the_state(api: Client) -> None:
    answer = control(api, a_run(state=RunState.FINISHED), "pause")
    assert answer.status_code == 409
    assert "finished" in answer.json()["error"]


@pytest.mark.parametrize("action", ["explode", 7, ["stop"], {}])
def test_an_unknown_action_is_refused_with_the_allowed_ones(action: object, api: Client) -> None:
    answer = control(api, a_run(), action)
    assert answer.status_code == 422
    assert "checkpoint" in answer.json()["errors"]["action"]


def test_a_body_that_is_not_json_is_refused(api: Client) -> None:
    answer = api.post(f"{RUNS}{a_run().pk}/control", "{", content_type="application/json")
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("", {"stat": "running"}),
        ("", {"state": "asleep"}),
        ("", {"limit": "0"}),
        ("", {"limit": "1e3"}),
        ("", {"after": "nosuchrun"}),
        ("", {"after": base64.b64encode(b"[1, 2]").decode()}),
        ("", {"after": base64.b64encode(b'["", "2026-01-01T00:00:00+00:00", "a\\u0000"]').decode()}),
        ("{id}/", {"x": "1"}),
        ("{id}/events", {"since": "3"}),
        ("{id}/events", {"after": "-1"}),
        ("{id}/events", {"after": "٣"}),
        ("{id}/events", {"limit": ["1", "2"]}),
        ("{id}/metrics", {"points": "999999999"}),
        ("{id}/metrics", {"from": "7", "to": "3"}),
        ("{id}/metrics", {"keys": ",".join(f"a/{n}" for n in range(101))}),
    ],
)
def test_an_invalid_query_is_a_400_with_a_remedy(path: str, query: dict[str, Any], api: Client) -> None:
    answer = api.get(RUNS + path.format(id=a_run().pk), query)
    assert answer.status_code == 400
    assert answer.json()["remedy"]


def test_errors_are_json(api: Client) -> None:
    for path, status in (("runs/nosuchrun/", 404), ("nothing/", 404)):
        answer = api.get(f"/api/v1/{path}")
        assert (answer.status_code, sorted(answer.json())) == (status, ["error", "remedy"])
    refused = api.delete(RUNS)
    assert (refused.status_code, refused["Allow"]) == (405, "GET, HEAD, POST")


def test_a_post_without_the_csrf_token_is_refused(db: None) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_user("ada"))
    run = a_run()
    assert control(strict, run, "stop").status_code == 403
    run.refresh_from_db()
    assert run.requested == Request.RUN


def swept() -> Sweep:
    """With a run that finished, and one that is queued."""
    sweep = a_sweep()
    end(queued(sweep)[0], RunState.FINISHED, successes=50)
    return sweep


ELSEWHERE = ("compare_entries",)  # needs two evaluations: tests/webapp/leaderboard
READS = [
    one for one in ENDPOINTS if one.method == "GET" and one.name not in ELSEWHERE and not isinstance(one.answer, Media)
]


def queries(run: str) -> dict[str, dict[str, str]]:
    """Of the routes that need one."""
    keys = {"keys": "rollout/success"}
    runs = {"runs": run}
    several = {"bands_of_runs": {**keys, **runs}, "outlines": runs}
    return {**several, "metrics": keys, "bands": keys, "group-curves": {"groups": run, "metrics": "rollout/success"}}


@pytest.mark.parametrize("endpoint", READS, ids=lambda endpoint: endpoint.name)
def test_an_answer_has_the_fields_that_are_described_and_no_others(
    endpoint: Endpoint, recorded: RecordedRun, api: Client
) -> None:
    """Most answers are sent without being validated again."""
    recorded.take_steps(45)
    recorded.raise_alert("Entropy fell to a third of its baseline.")
    recorded.deliver()
    report = Report.objects.create(title="Learning rates", text="It works.")
    evaluation = suite_evaluation({"Bandit": ["1", "0", "1", "-"]})
    rollouts = RolloutImport.objects.create(name="from verl", files=["20.jsonl"], bytes=2, lines=1, upload="0" * 32)
    lake = define(name="Lake", config=EnvironmentConfig(kind="frozen_lake"))
    preflight = Preflight.objects.create(version=lake, config=lake.config, player="random", problems=2, rollouts=2)
    what_if = WhatIf.objects.create(
        run=recorded.run, split="train", step=1, environment="FrozenLake", group=0, member=0, turn=0, edit="nothing",
        temperature=1.0, seed=0,
    )  # fmt: skip
    rows = {
        "sweep_id": swept().pk, "report_id": report.pk, "evaluation_id": evaluation.pk, "import_id": rollouts.pk,
        "environment_id": lake.definition_id, "preflight_id": preflight.pk, "what_if_id": what_if.pk,
    }  # fmt: skip
    path = endpoint.path.format(run_id=recorded.run.pk, **rows)
    answer = api.get(f"/api/v1/{path}", queries(recorded.run.pk).get(endpoint.route, {}))
    assert answer.status_code == 200
    assert not isinstance(endpoint.answer, Media)
    endpoint.answer.model_validate(answer.json(), extra="forbid")


def test_every_operation_has_a_summary_and_every_parameter_a_description(api: Client) -> None:
    operations = [one for methods in openapi()["paths"].values() for one in methods.values()]
    assert len(operations) == len(ENDPOINTS)
    for operation in operations:
        assert operation["summary"]
        assert all(parameter["description"] for parameter in operation["parameters"]), operation["operationId"]


def test_the_reference_page_lists_every_operation(api: Client) -> None:
    text = api.get("/api-reference/").content.decode()
    for endpoint in ENDPOINTS:
        assert f'id="{endpoint.name}"' in text
    assert "<code>Authorization: Bearer sb_…</code>" in text


def test_every_reference_in_the_schema_resolves(api: Client) -> None:
    document = api.get("/api/v1/openapi.json").json()
    known = document["components"]["schemas"]
    wanted = references(document)
    assert "Event" in wanted
    assert wanted - set(known) == set()


def references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"].rpartition("/")[2]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*(references(value) for value in part.values()))
    return set().union(*(references(value) for value in part)) if isinstance(part, list) else set()
