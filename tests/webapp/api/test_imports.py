"""Imports of rollouts through the API: 202 with an address, progress there, and limits."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from tests.engine.foreign.test_rollouts import verl
from tests.webapp.members.people import a_member
from webapp.launching import uploads
from webapp.launching.models import RolloutImport, imports_folder
from webapp.projects.models import Role
from webapp.quotas.models import UserQuota
from workers.imports import HeldImport

pytestmark = pytest.mark.django_db(transaction=True)
NDJSON = "application/x-ndjson"


@pytest.fixture(autouse=True)
def _folder(settings: Settings, tmp_path: Path) -> None:
    settings.STARBOARD_DATA_DIR = tmp_path
    settings.RUNS_DIR = str(tmp_path / "runs")
    settings.STARBOARD_ENGINE_COMMAND = None


@pytest.fixture
def editor(client: Client) -> Client:
    client.force_login(a_member("edith", Role.EDITOR))
    return client


def send(client: Client, body: bytes, query: str = "", **headers: str) -> Any:
    return client.post(f"/api/v1/imports/{query}", body, content_type=NDJSON, headers=headers)


def test_an_upload_is_answered_with_202_and_an_address_that_shows_its_end(editor: Client) -> None:
    body = "\n".join([verl(score=1), "{", verl(score=0)]).encode()
    answer = send(editor, gzip.compress(body), "?file=20.jsonl&name=from+verl", content_encoding="gzip")
    assert answer.status_code == 202
    queued = answer.json()
    assert (queued["state"], queued["lines"], queued["run"]) == ("queued", 3, None)
    assert HeldImport.play(queued["id"], threading.Event())
    found = editor.get(queued["address"]).json()
    assert (found["state"], found["read"], found["accepted"], found["rejected"]) == ("finished", 3, 2, 1)
    [rejected] = found["rejected_lines"]
    assert (rejected["file"], rejected["line"]) == ("20.jsonl", 2) and "not JSON" in rejected["reason"]
    run = editor.get(f"/api/v1/runs/{found['run']}/").json()
    assert (run["name"], run["step"]) == ("from verl", 20)
    assert [one["id"] for one in editor.get("/api/v1/imports/?state=finished").json()["imports"]] == [found["id"]]


def test_a_viewer_reads_an_import_and_may_neither_upload_nor_stop_one(editor: Client) -> None:
    address = send(editor, verl().encode()).json()["address"]
    viewer = Client()
    viewer.force_login(a_member("vera", Role.VIEWER))
    assert viewer.get(address).status_code == 200
    assert viewer.post(f"{address}stop").status_code == 403
    assert send(viewer, verl().encode()).status_code == 403
    assert editor.post(f"{address}stop").json()["state"] == "stopped"


@pytest.mark.parametrize(
    ("body", "query", "status", "said"),
    [
        (b" \n", "", 400, "The body is empty"),
        (b"{}", "?split=test", 400, "split"),
        (b"{}", "?unknown=1", 400, "unknown"),
    ],
)
def test_what_is_wrong_with_an_upload_is_said(editor: Client, body: bytes, query: str, status: int, said: str) -> None:
    answer = send(editor, body, query)
    assert answer.status_code == status and said in answer.content.decode()
    assert not RolloutImport.objects.exists() and not imports_folder().exists()


def test_limits_of_a_user_are_said_with_409(editor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_LIVE", 1)
    assert send(editor, verl().encode()).status_code == 202
    answer = send(editor, verl().encode())
    assert answer.status_code == 409 and "1 imports in progress" in answer.content.decode()
    UserQuota.objects.create(user=RolloutImport.objects.get().owner, disk_gib=0)
    answer = send(editor, verl().encode())
    assert answer.status_code == 409 and "GiB of disk" in answer.content.decode()
    assert len(list(imports_folder().iterdir())) == 1
