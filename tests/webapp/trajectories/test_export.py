"""Trajectories as chat messages: filtered, selected, or a single one; an unreadable one has the reason in its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import AsyncClient, Client

from engine.environments.registry import ENVIRONMENTS
from tests.builders.trajectories import END, record_steps
from tests.engine.rollout.forging import FORGED
from webapp.runs.models import Run
from webapp.trajectories import chat, services
from webapp.trajectories.models import Trajectory


def exported(browser: Client, run: Run, query: str = "") -> list[dict[str, Any]]:
    answer: Any = browser.get(f"/runs/{run.pk}/trajectories/export.jsonl{query}")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.getvalue().splitlines()]


def test_a_run_is_exported_in_order(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    found = exported(browser, run)
    keys = [tuple(line["metadata"][name] for name in ("step", "group", "member")) for line in found]
    assert keys == [(row.step, row.group, row.member) for row in rows]


def test_filters_and_selection_limit_the_export(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    assert {line["metadata"]["step"] for line in exported(browser, run, "?step=2")} == {2}
    ticked = exported(browser, run, f"?step=2&ids={rows[0].pk}&ids={rows[3].pk}&ids=x")
    assert [line["metadata"]["member"] for line in ticked] == [rows[0].member, rows[3].member]


def test_a_line_has_the_conversation_and_its_metadata(browser: Client, run: Run, rows: list[Trajectory]) -> None:
    row = next(row for row in rows if row.turns >= 3)
    record = services.record(row)
    answer: Any = browser.get(f"/runs/{run.pk}/trajectories/{row.pk}/chat.jsonl")
    line = json.loads(answer.content)
    roles = [message["role"] for message in line["messages"]]
    assert roles == ["system", *["user", "assistant"] * row.turns]
    assert [m["content"] for m in line["messages"] if m["role"] == "assistant"] == [
        t["response"] for t in record["turns"]
    ]
    assert line["messages"][1]["content"].startswith(record["initial"]["observation"])
    assert END not in json.dumps(line)
    about = line["metadata"]
    assert (about["run"], about["seed"], about["return"], about["advantage"], about["success"]) == (
        run.pk, row.seed, row.episode_return, row.advantage, row.success
    )  # fmt: skip
    assert [turn["executed"] for turn in about["turns"]] == [turn["executed"] for turn in record["turns"]]


def test_text_repeated_in_later_prompts_is_exported_once() -> None:
    """With a context window each prompt has its own context, which includes the earlier turns."""
    first = [{"role": "system", "content": "Rules"}, {"role": "user", "content": "A"}]
    second = [*first, {"role": "assistant", "content": "Up"}, {"role": "user", "content": "B"}]
    turns = [{"messages": first, "response": "Up"}, {"messages": second, "response": "Down"}]
    contents = [message["content"] for message in chat.messages_of({"turns": turns})]
    assert contents == ["Rules", "A", "Up", "B", "Down"]


def test_a_message_that_an_observation_forges_is_part_of_its_text(
    browser: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", "tests.engine.rollout.forging:ForgingLake")
    row = record_steps(run, run.parsed_config().environments[0], steps=range(1, 2))[0]
    answer: Any = browser.get(f"/runs/{run.pk}/trajectories/{row.pk}/chat.jsonl")
    messages = json.loads(answer.content)["messages"]
    assert [message["role"] for message in messages] == ["system", *["user", "assistant"] * row.turns]
    assert all(FORGED in message["content"] for message in messages[1::2])


def test_an_unreadable_trajectory_has_no_messages_and_a_reason(
    browser: Client, run: Run, rows: list[Trajectory]
) -> None:
    (run.directory / rows[0].file).unlink()
    found = exported(browser, run)
    assert len(found) == len(rows)
    assert found[0]["messages"] == []
    assert "does not exist" in found[0]["metadata"]["error"]
    assert found[-1]["messages"]
    answer = browser.get(f"/runs/{run.pk}/trajectories/{rows[0].pk}/chat.jsonl")
    assert answer.status_code == 410


def test_a_download_has_a_limit_that_the_page_shows(
    browser: Client, run: Run, rows: list[Trajectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = browser.get(f"/runs/{run.pk}/trajectories/").content.decode()
    assert f"Export all {len(rows)}" in page
    monkeypatch.setattr(chat, "MOST_EXPORTED", 3)
    monkeypatch.setattr("webapp.trajectories.templatetags.export_form.MOST_EXPORTED", 3)
    assert len(exported(browser, run)) == 3
    page = browser.get(f"/runs/{run.pk}/trajectories/").content.decode()
    assert "Export the first 3" in page and "narrow the filters" in page


@pytest.mark.django_db(transaction=True)
async def test_the_export_is_streamed(
    async_client: AsyncClient, run: Run, rows: list[Trajectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    from asgiref.sync import sync_to_async
    from django.contrib.auth.models import User

    monkeypatch.setattr(chat, "BATCH", 20)
    user = await sync_to_async(User.objects.create_user)("grace")
    await async_client.aforce_login(user)
    answer: Any = await async_client.get(f"/runs/{run.pk}/trajectories/export.jsonl")
    parts = [part async for part in answer.streaming_content]
    assert [part.count(b"\n") for part in parts] == [20, len(rows) - 20]
