"""Evaluations in a shell reach the site whole, once, and with numbers that the site computes itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from engine.suites.sending import SendingFailed, send
from engine.suites.store import SUMMARY
from tests.engine.evaluation.chat_server import Answer, serving
from tests.engine.suites.suites import play_at
from tests.webapp.security.live_site import live_site
from webapp.accounts.models import Scope
from webapp.accounts.tokens import new_token
from webapp.jobs import JobState
from webapp.suites import catalogue
from webapp.suites.models import SuiteEvaluation, SuiteVersion

LAKES = """name = "lakes"
[[items]]
name = "Lake"
environment = { kind = "frozen_lake", max_turns = 2, max_actions = 4 }
count = 5
samples = 2
"""


@pytest.fixture
def origin(transactional_db: None, settings: Settings) -> Iterator[str]:
    with live_site(settings) as opened:
        yield opened


@pytest.fixture
def owner(origin: str, monkeypatch: pytest.MonkeyPatch) -> User:
    user = User.objects.create_user("ada")
    token = new_token(user, name="shell", scopes=[Scope.INGEST], lifetime=timedelta(days=1))
    monkeypatch.setenv("STARBOARD_TOKEN", token)
    return user


@pytest.fixture
def version(owner: User) -> SuiteVersion:
    return catalogue.define(LAKES, owner)


def played(version: SuiteVersion, directory: Path) -> Path:
    with serving() as server:
        play_at(server, version.parsed(), directory)
    return directory


def test_an_evaluation_of_a_shell_is_on_the_site_with_every_episode(
    origin: str, version: SuiteVersion, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.suites.sending.LARGEST_BATCH", 20_000)  # several batches
    directory = played(version, tmp_path / "out")
    address = send(directory, origin)
    evaluation = SuiteEvaluation.objects.get()
    assert address == f"{origin}/evaluations/{evaluation.pk}/"
    summary = json.loads((directory / SUMMARY).read_text())
    [item] = summary["items"]
    there = evaluation.items.get()
    assert (evaluation.state, evaluation.imported, evaluation.played) == (JobState.FINISHED, True, 10)
    assert (evaluation.success, evaluation.low, evaluation.high) == (
        summary["success"],
        summary["low"],
        summary["high"],
    )
    assert {name: getattr(there, name) for name in item if name != "item"} == {
        name: value for name, value in item.items() if name != "item"
    }
    client.force_login(User.objects.get(username="ada"))
    assert len(client.get(f"/evaluations/{evaluation.pk}/episodes/0/3/1/data.json").json()["turns"]) >= 1
    with pytest.raises(SendingFailed, match=f"has been evaluated on exactly these problems .* {evaluation.pk}"):
        send(directory, origin)
    send(directory, origin, again=True)
    assert SuiteEvaluation.objects.count() == 2


def test_a_connection_that_breaks_is_taken_up_without_a_second_evaluation(
    origin: str, version: SuiteVersion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = played(version, tmp_path / "out")
    monkeypatch.setattr("engine.suites.sending.LARGEST_BATCH", 20_000)
    post, sent = httpx2.Client.post, []

    def breaks(self: httpx2.Client, url: str, **options: object) -> httpx2.Response:
        sent.append(url)
        if len(sent) > 2:
            raise httpx2.ConnectError("gone")
        return post(self, url, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("engine.suites.sending.RETRIES", 0)
    monkeypatch.setattr(httpx2.Client, "post", breaks)
    with pytest.raises(SendingFailed, match="did not answer"):
        send(directory, origin)
    evaluation = SuiteEvaluation.objects.get()
    assert 0 < evaluation.played < 10
    assert evaluation.state == JobState.STOPPED
    monkeypatch.setattr(httpx2.Client, "post", post)
    send(directory, origin)
    evaluation.refresh_from_db()
    assert (SuiteEvaluation.objects.count(), evaluation.state, evaluation.played) == (1, JobState.FINISHED, 10)


def test_what_the_site_cannot_compare_is_refused_with_the_difference(
    origin: str, version: SuiteVersion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = version.parsed().items[0].model_copy(update={"temperature": 0.9})
    other = version.parsed().model_copy(update={"items": [item]})
    with serving(lambda asked, number: None) as server:
        play_at(server, other, tmp_path / "warm")
        play_at(server, other.model_copy(update={"version": 3}), tmp_path / "newer")
    with pytest.raises(
        SendingFailed, match=r"not played as lakes v1 of this site says\. Lake: temperature 0\.9, not 0\.5"
    ):
        send(tmp_path / "warm", origin)
    with pytest.raises(SendingFailed, match="no version 3 of the suite 'lakes'"):
        send(tmp_path / "newer", origin)
    monkeypatch.delenv("STARBOARD_TOKEN")
    with pytest.raises(Exception, match="needs a personal token"):
        send(tmp_path / "warm", origin)


def test_wrong_episodes_are_rejected_line_by_line(
    origin: str, version: SuiteVersion, owner: User, client: Client
) -> None:
    client.force_login(owner)
    item = version.parsed().items[0]
    about = {"suite": "lakes", "version": 1, "key": version.key, "policy": {"kind": "directory", "model": "m"}}
    announced = client.post("/api/v1/played-evaluations/", json.dumps(about), content_type="application/json")
    path = f"/api/v1/played-evaluations/{announced.json()['id']}/"
    good = {
        "item": "Lake", "problem": item.problems[0], "seed": 1, "sample": 0, "success": True, "episode_return": 1.0,
        "turns": 1, "actions": 1, "tokens": 3, "prompt_tokens": None, "malformed": 0, "stop": "success",
        "seconds": 0.1, "error": "", "trained_on": None, "trajectory": {"turns": []},
    }  # fmt: skip
    wrong = [
        {**good, "problem": "0" * 16}, {**good, "sample": 2}, {**good, "item": "Ice"}, {**good, "turns": -1},
        {**good, "success": None}, {**good, "trajectory": {}}, {**good, "more": 1},
    ]  # fmt: skip
    lines = "\n".join(json.dumps(one) for one in [good, *wrong, good]) + "\nnot json\n"
    answer = client.post(f"{path}episodes", lines, content_type="application/x-ndjson").json()
    assert (answer["accepted"], answer["rejected_count"], answer["missing"]) == (1, 8, 9)  # the last is a repetition
    assert [one["line"] for one in answer["rejected"]] == [2, 3, 4, 5, 6, 7, 8, 10]
    refused = client.post(f"{path}finish", "", content_type="application/json")
    assert (refused.status_code, "9 of 10 episodes have not arrived" in refused.json()["error"]) == (409, True)


def test_the_api_evaluates_lists_and_stops(version: SuiteVersion, owner: User, client: Client) -> None:
    client.force_login(owner)

    def post(path: str, **body: object) -> tuple[int, dict[str, object]]:
        answer = client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")
        return answer.status_code, answer.json()

    status, made = post("evaluations/", suite="lakes", policy="directory", directory="tiny", samples=1)
    assert (status, made["state"], made["planned"], made["items"]) == (201, "queued", 5, [])
    status, refused = post("evaluations/", suite="lakes", policy="directory", directory="tiny", samples=1)
    assert (status, "is being evaluated" in str(refused["error"])) == (409, True)
    assert post("evaluations/", suite="none", policy="directory")[0] == 404
    assert post(f"evaluations/{made['id']}/control", action="stop")[1]["state"] == "stopped"
    assert post(f"evaluations/{made['id']}/control", action="stop")[0] == 409
    assert post(f"evaluations/{made['id']}/control", action="resume")[1]["state"] == "queued"
    for samples in (2, 3):
        post("evaluations/", suite="lakes", policy="directory", directory="tiny", samples=samples)
    page = client.get("/api/v1/evaluations/?suite=lakes&limit=2").json()
    assert [one["samples"] for one in page["evaluations"]] == [3, 2]
    last = client.get(f"/api/v1/evaluations/?suite=lakes&limit=2&after={page['next']}").json()
    assert ([one["id"] for one in last["evaluations"]], last["next"]) == ([made["id"]], None)
    assert client.get("/api/v1/suites/").json()["suites"][0]["items"][0]["problems"] == 5
    assert client.get("/api/v1/evaluations/999/").status_code == 404


def test_an_answer_that_is_no_json_is_said(origin: str, version: SuiteVersion, tmp_path: Path) -> None:
    directory = played(version, tmp_path / "out")
    elsewhere = serving(lambda asked, number: Answer(status=404, body=b"<html>no such page"))
    with elsewhere as server, pytest.raises(SendingFailed, match="status 404: <html>no such page"):
        send(directory, server.address)
