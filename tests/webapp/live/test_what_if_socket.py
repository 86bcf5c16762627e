"""The socket of a what-if: its engine's events without a gap, then how it ended, and only its own."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from engine.what_if.request import EVENTS
from tests.webapp.live.sockets import Sockets
from webapp.jobs import JobState
from webapp.runs.models import Run
from webapp.updates import publish_what_if
from webapp.user_sessions.store import SessionStore
from webapp.whatif.models import WhatIf

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_layer")]


@pytest.fixture
async def what_if(settings: Any, tmp_path: Path) -> WhatIf:
    settings.RUNS_DIR = str(tmp_path)
    run = await Run.objects.acreate(name="calm-otter-12", config={})
    return await WhatIf.objects.acreate(
        run=run, split="train", step=1, environment="Bandit", group=0, member=0, turn=0, edit="nothing",
        temperature=1.0, seed=1, state=JobState.RUNNING,
    )  # fmt: skip


def emit_text(what_if: WhatIf, *texts: str) -> None:
    what_if.folder.mkdir(parents=True, exist_ok=True)
    with (what_if.folder / EVENTS).open("a") as file:
        file.writelines(json.dumps({"kind": "words", "turn": 0, "text": text}) + "\n" for text in texts)
    publish_what_if(what_if.pk)


async def words(socket: Any) -> list[str]:
    return [event["text"] for event in (await socket.until("events"))["events"]]


async def test_text_is_streamed_and_the_end_comes_last(
    what_if: WhatIf, session: SessionStore, sockets: Sockets
) -> None:
    emit_text(what_if, "I", " go")
    socket = await sockets.open(f"/ws/runs/{what_if.run_id}/what-ifs/{what_if.pk}/", session)
    assert await words(socket) == ["I", " go"]
    assert (await socket.until("state"))["state"]["live"]
    emit_text(what_if, " left")
    assert await words(socket) == [" left"]
    emit_text(what_if, " and up")
    await WhatIf.objects.filter(pk=what_if.pk).aupdate(state=JobState.FINISHED)
    publish_what_if(what_if.pk)
    kinds = [json.loads((await socket.receive())["text"])["kind"] for _ in range(2)]
    assert kinds == ["events", "state"]


async def test_a_reconnecting_page_receives_missed_events_once(
    what_if: WhatIf, session: SessionStore, sockets: Sockets
) -> None:
    path = f"/ws/runs/{what_if.run_id}/what-ifs/{what_if.pk}/"
    emit_text(what_if, "a", "b")
    before = await sockets.open(path, session)
    seq = (await before.until("events"))["last_seq"]
    await before.leave()
    sockets.opened.remove(before)
    emit_text(what_if, "c", "d")
    after = await sockets.open(f"{path}?after={seq}", session)
    assert await words(after) == ["c", "d"]
    await asyncio.sleep(0.2)
    emit_text(what_if, "e")
    assert await words(after) == ["e"]


async def test_a_socket_under_another_run_is_closed_with_4404(
    what_if: WhatIf, session: SessionStore, sockets: Sockets
) -> None:
    other = await Run.objects.acreate(name="quiet-fox-1", config={})
    socket = await sockets.open(f"/ws/runs/{other.pk}/what-ifs/{what_if.pk}/", session)
    assert await socket.close_code() == 4404
