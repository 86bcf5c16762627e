"""Runs that are trained elsewhere: created, fed line by line, ended, and shown as any run."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from tests.webapp.members.people import a_member
from tests.webapp.runs.rows import a_run
from webapp.runs.indexing import unread_runs
from webapp.runs.models import Ingestion, Run, StepMetrics
from webapp.runs.states import RunState
from workers import lease
from workers.indexing import index

pytestmark = pytest.mark.django_db

RUNS = "/api/v1/runs/"


def post(browser: Client, path: str, body: object) -> Any:
    return browser.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def created(browser: Client, **body: object) -> Run:
    answer = post(browser, "external-runs/", {"source": "verl", "name": "far away", **body})
    assert answer.status_code == 201, answer.json()
    assert answer.json()["next_seq"] == 1
    return Run.objects.get(pk=answer.json()["id"])


def lines(first: int, last: int) -> bytes:
    """One for each step, whose `seq` is its step."""
    numbers = range(first, last + 1)
    made = [{"seq": n, "step": n, "metrics": {"rollout/success": n / 100, "actor/entropy": 1.5}} for n in numbers]
    return "\n".join(json.dumps(one) for one in made).encode() + b"\n"


def send(browser: Client, run: Run, body: bytes, **headers: str) -> Any:
    return browser.post(f"{RUNS}{run.pk}/lines", body, content_type="application/x-ndjson", headers=headers)


def test_a_run_is_created_fed_and_ended(browser: Client) -> None:
    run = created(browser, steps=40, project="lakes", config={"lr": 1e-5}, environment="Lake", model="a/model")
    assert (run.state, run.project.name, run.config["reported"]) == (RunState.REPORTING, "lakes", {"lr": 1e-5})
    answer = send(browser, run, lines(1, 3)).json()
    assert (answer["accepted"], answer["next_seq"], answer["rejected"]) == (3, 4, [])
    assert unread_runs() == [run.pk]
    assert index(run.pk)
    assert unread_runs() == []
    assert list(run.steps.order_by("step").values_list("step", flat=True)) == [1, 2, 3]
    send(browser, run, lines(4, 40))
    assert post(browser, f"runs/{run.pk}/finish", {"succeeded": True, "reason": "Done."}).json()["state"] == "finished"
    index(run.pk)
    run.refresh_from_db()
    assert (run.step, run.total_steps, run.metrics["rollout/success"]) == (40, 40, 0.4)
    assert run.verdict["step"] == 40
    assert send(browser, run, lines(41, 41)).status_code == 409
    assert post(browser, f"runs/{run.pk}/finish", {"succeeded": True}).status_code == 409


def test_a_batch_that_is_sent_again_doubles_nothing(browser: Client) -> None:
    run = created(browser)
    send(browser, run, lines(1, 5))
    again = send(browser, run, lines(1, 7)).json()
    assert (again["accepted"], again["duplicates"]) == (2, 5)
    index(run.pk)
    assert StepMetrics.objects.filter(run=run).count() == 7


def test_a_wrong_line_is_named_and_the_others_are_stored(browser: Client) -> None:
    run = created(browser)
    answer = send(browser, run, lines(1, 1) + b"{oops\n" + lines(3, 3)).json()
    assert (answer["accepted"], answer["gaps"], answer["rejected_count"]) == (2, 1, 1)
    assert answer["rejected"][0]["line"] == 2
    index(run.pk)
    assert list(run.steps.order_by("step").values_list("step", flat=True)) == [1, 3]


def test_lines_that_come_while_a_worker_reads_are_read_too(browser: Client) -> None:
    run = created(browser)
    send(browser, run, lines(1, 2))
    epoch = lease.take(run.pk)  # nothing here supervises the run
    assert epoch is None
    held = lease.seize(run.pk)
    assert not index(run.pk)
    lease.release(run.pk, held)
    assert unread_runs() == [run.pk]
    assert index(run.pk)


def test_its_pages_are_those_of_any_run(browser: Client) -> None:
    run = created(browser, name="far away", config={"actor": {"lr": 3e-7}}, model="a/model")
    send(browser, run, lines(1, 30))
    index(run.pk)
    page = browser.get(f"/runs/{run.pk}/").content.decode()
    assert 'id="view-overview"' in page
    assert "3e-07" in page
    assert "a/model" in page
    assert 'href="/runs/new/?clone=' not in page  # its configuration is not one of ours
    assert browser.get(f"/runs/{run.pk}/config/download/").json() == {"actor": {"lr": 3e-7}}
    assert b"far away" in browser.get("/runs/").content
    assert browser.get(f"/compare/?runs={run.pk}").status_code == 200
    columns = browser.get(f"{RUNS}{run.pk}/metrics?keys=policy/entropy").json()
    assert columns["series"]["policy/entropy"] == [1.5] * 30  # verl's actor/entropy
    assert browser.get(f"{RUNS}{run.pk}/").json()["shown_as"] == "running"


def test_one_that_has_gone_silent_says_since_when(browser: Client) -> None:
    run = created(browser)
    send(browser, run, lines(1, 2))
    index(run.pk)
    assert browser.get(f"{RUNS}{run.pk}/").json()["status"]["label"] != "Silent"
    Run.objects.filter(pk=run.pk).update(last_heartbeat_at=datetime(2026, 11, 1, 8, 30, tzinfo=UTC))
    status = browser.get(f"{RUNS}{run.pk}/").json()["status"]
    assert (status["label"], status["reason"].partition(" UTC")[0]) == (
        "Silent",
        "Nothing has arrived since 2026-11-01 08:30",
    )
    send(browser, run, lines(3, 3))
    assert browser.get(f"{RUNS}{run.pk}/").json()["status"]["label"] != "Silent"


def test_nothing_here_steers_it(browser: Client) -> None:
    run = created(browser)
    for action in ("stop", "pause", "resume", "checkpoint"):
        assert post(browser, f"runs/{run.pk}/control", {"action": action}).status_code == 409
    post(browser, f"runs/{run.pk}/finish", {"succeeded": False, "reason": "Out of memory."})
    run.refresh_from_db()
    assert (run.state, run.state_reason) == (RunState.FAILED, "Out of memory.")
    assert post(browser, f"runs/{run.pk}/control", {"action": "resume"}).status_code == 409


def test_a_body_may_be_compressed_and_is_limited(browser: Client) -> None:
    run = created(browser)
    assert send(browser, run, gzip.compress(lines(1, 3)), Content_Encoding="gzip").json()["accepted"] == 3
    assert send(browser, run, b"no gzip", Content_Encoding="gzip").status_code == 400
    assert send(browser, run, gzip.compress(lines(4, 400))[:-20], Content_Encoding="gzip").status_code == 400
    assert send(browser, run, b"x", Content_Encoding="br").status_code == 415
    assert send(browser, run, gzip.compress(b" " * (64 * 1024 * 1024 + 1)), Content_Encoding="gzip").status_code == 413
    assert send(browser, run, b"\n" * 10_002).status_code == 413


def test_only_its_owner_feeds_it_and_only_if_it_is_trained_elsewhere(browser: Client) -> None:
    run = created(browser)
    other = Client()
    other.force_login(a_member("eve"))
    assert send(other, run, lines(1, 1)).status_code == 403
    assert send(browser, a_run(), lines(1, 1)).status_code == 409


def as_lines(*data: dict[str, object]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in data)


CHAT = [
    {"role": "system", "content": "Reach G."},
    {"role": "user", "content": "S . G"},
    {"role": "assistant", "content": "<think>go</think><answer>Right</answer>", "reward": 0, "tokens": 9},
    {"role": "user", "content": ". S G"},
    {"role": "assistant", "content": "<think>on</think><answer>Right</answer>", "reward": 1, "tokens": 9},
]


def test_its_trajectories_can_be_read_turn_by_turn(browser: Client) -> None:
    run = created(browser, environment="Lake")
    members = [{"group": 2, "messages": CHAT}, {"group": 2, "messages": CHAT[:3], "return": 0}]
    bad = {"seq": 3, "step": 1, "trajectories": [{"messages": []}]}
    body = as_lines({"seq": 1, "step": 1, "metrics": {}}, {"seq": 2, "step": 1, "trajectories": members}, bad)
    answer = send(browser, run, body).json()
    assert (answer["accepted"], answer["rejected_count"]) == (2, 1)
    assert "trajectories[0].messages" in answer["rejected"][0]["reason"]
    send(browser, run, body)  # again, as if the answer had been lost
    index(run.pk)
    won, lost = run.trajectories.order_by("member")
    assert (won.environment, won.success, won.turns, won.response_tokens) == ("Lake", True, 2, 18)
    assert (lost.success, lost.group, lost.episode_return) == (False, 2, 0.0)
    reader = browser.get(f"/runs/{run.pk}/trajectories/{won.pk}/")
    assert reader.status_code == 200
    record = browser.get(f"/runs/{run.pk}/trajectories/{won.pk}/data.json").json()
    assert [turn["executed"] for turn in record["turns"]] == [["Right"], ["Right"]]
    listed = browser.get(f"{RUNS}{run.pk}/trajectories?messages=1&success=1").json()
    [shown] = listed["trajectories"]
    assert [message["role"] for message in shown["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert [turn["reward"] for turn in shown["played"]] == [0.0, 1.0]
    assert listed["next"] is None


def test_groups_fill_the_filter_tab_and_evaluations_the_verdict(browser: Client) -> None:
    run = created(browser, environment="Lake")
    evaluation = {"episodes": 256, "successes": 61, "mean_return": 0.2}
    groups = [{"returns": [0, 1], "seed": 5}, {"returns": [1, 1], "kept": False}]
    send(
        browser, run, as_lines({"seq": 1, "step": 1, "groups": groups}, {"seq": 2, "step": 1, "evaluation": evaluation})
    )
    index(run.pk)
    found = browser.get(f"/runs/{run.pk}/groups/").json()
    assert [group["kept"] for group in found["groups"]] == [True, False]
    [row] = browser.get(f"{RUNS}{run.pk}/held-out").json()["evaluations"]
    assert (row["environment"], row["successes"], row["trained_on"]) == ("Lake", 61, 0)
    assert run.steps.get().metrics["rollout/zero_variance_share"] == 0.5


def test_trajectories_are_paged(browser: Client) -> None:
    run = created(browser)
    members = [{"group": 0, "messages": CHAT} for _ in range(5)]
    send(browser, run, as_lines({"seq": 1, "step": 1, "trajectories": members}))
    index(run.pk)
    first = browser.get(f"{RUNS}{run.pk}/trajectories?limit=3").json()
    rest = browser.get(f"{RUNS}{run.pk}/trajectories?limit=3&after={first['next']}").json()
    assert [row["member"] for row in [*first["trajectories"], *rest["trajectories"]]] == [4, 3, 2, 1, 0]
    assert rest["next"] is None


def test_a_line_that_was_cut_off_on_disk_spoils_no_other(browser: Client) -> None:
    run = created(browser)
    with (run.directory / "events.jsonl").open("a") as file:
        file.write('{"kind": "step_comp')
    send(browser, run, lines(1, 2))
    index(run.pk)
    assert run.steps.count() == 2


def test_a_rolled_back_batch_is_taken_once(browser: Client) -> None:
    run = created(browser)
    before = Ingestion.objects.get(run=run)
    send(browser, run, lines(1, 2))
    before.save()  # as if its transaction had been rolled back after the file was written
    index(run.pk)
    assert run.steps.count() == 0  # they were not confirmed
    send(browser, run, lines(1, 4))
    index(run.pk)
    assert list(run.steps.order_by("step").values_list("step", flat=True)) == [1, 2, 3, 4]
