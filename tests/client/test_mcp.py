"""The MCP server against a served site, called by the SDK's own client over stdio."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.builders.recorded_run import RecordedRun

pytest.importorskip("mcp", reason="mcp comes with vLLM: make setup-cluster")

from mcp import Client, StdioServerParameters

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.django_db(transaction=True)


def served(*arguments: str) -> StdioServerParameters:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client")}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "starboard_client.cli", "mcp", *arguments], env=environment
    )


async def called(client: Client, tool: str, **arguments: object) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    found = answer.structured_content
    if found is None:
        found = json.loads(answer.content[0].text)
    return found.get("result", found) if isinstance(found, dict) else found


@pytest.fixture
def recorded(shell: Path) -> RecordedRun:
    recorded = RecordedRun(steps=30)
    recorded.take_steps(30)
    recorded.raise_alert("Entropy fell.")
    recorded.finish()
    return recorded


async def test_an_agent_reads_runs_verdicts_curves_alerts_and_trajectories(recorded: RecordedRun) -> None:
    run_id = recorded.run.pk
    async with Client(served()) as client:
        tools = (await client.list_tools()).tools
        assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools)
        assert "control_run" not in {tool.name for tool in tools}
        [listed] = await called(client, "list_runs", name="calm")
        assert (listed["id"], listed["step"]) == (run_id, 30)
        summary = await called(client, "run_summary", run_id=run_id)
        assert summary["verdict"]["label"] == recorded.run.verdict["label"]
        assert summary["evaluations"][-1]["episodes"] == 256
        curves = await called(client, "curves", run_id=run_id, metrics=["rollout/success"], points=5)
        assert 5 <= len(curves["steps"]) < 30
        [alert] = await called(client, "alerts", run_id=run_id)
        assert alert["message"] == "Entropy fell."
        assert await called(client, "record_problems", run_id=run_id) == []
        assert await called(client, "trajectories", run_id=run_id) == []
        answer = await client.call_tool("run_summary", {"run_id": "nosuchrun0"})
        assert answer.is_error
        assert "There is no run" in str(answer.content)


async def test_control_is_there_only_if_it_is_allowed(recorded: RecordedRun) -> None:
    async with Client(served("--allow-control")) as client:
        await called(client, "control_run", run_id=recorded.run.pk, action="archive")
    await recorded.run.arefresh_from_db()
    assert recorded.run.archived_at is not None
