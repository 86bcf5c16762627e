"""Where Ray is, whether it may be reached there, and waiting for a cluster that was used before."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.cluster.connection import (
    ClusterUnavailable,
    ClusterUnreachable,
    check_reachable,
    reconnect,
)
from engine.cluster.placement import used_gpus_before
from engine.cluster.reporting import RunReporter
from engine.events import PhaseChanged, RunStarted
from engine.training.run_directory import EventLog
from tests.engine.cluster.runs import needs_ray


def reporter(status: Callable[[str], None], check_cancelled: Callable[[], None] = lambda: None) -> RunReporter:
    return RunReporter(status=status, warn=lambda message, **_: None, check_cancelled=check_cancelled)


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """`RAY_ADDRESS`, where nothing responds."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and not listening
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        yield address


@needs_ray
def test_an_unreachable_cluster_is_waited_for_with_a_status_until_the_time_limit(unreachable: str) -> None:
    reported: list[str] = []
    with pytest.raises(
        ClusterUnavailable, match=r"nothing responds there.* did not come back within 0\.02 minutes"
    ) as given_up:
        reconnect(1, namespace="away", minutes=0.02, reporter=reporter(reported.append))
    assert not isinstance(given_up.value, ClusterUnreachable)
    assert len(reported) == 1 and unreachable in reported[0] and reported[0].startswith("waiting for Ray to come back.")
    assert "cluster.wait_minutes" in given_up.value.remedy


@needs_ray
def test_waiting_for_a_cluster_can_be_cancelled(unreachable: str) -> None:
    def cancel() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reconnect(1, namespace="away", minutes=0, reporter=reporter(lambda _: None, cancel))


@needs_ray
def test_an_invalid_address_is_refused_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "head")
    reported: list[str] = []
    with pytest.raises(ClusterUnavailable, match="not the address of a cluster"):
        reconnect(1, namespace="away", minutes=0, reporter=reporter(reported.append))
    assert reported == []


@pytest.mark.parametrize("address", ["192.0.2.5:6379", "[2001:db8::1]:6379", "head.invalid:6379"])
def test_ray_is_reached_over_a_network_only_with_a_token(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    for mode in ("", "disabled"):
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
        with pytest.raises(
            ClusterUnavailable, match="reached over a network, and RAY_AUTH_MODE is not token"
        ) as refused:
            check_reachable(address)
        assert "RAY_AUTH_TOKEN" in refused.value.remedy and not isinstance(refused.value, ClusterUnreachable)


def test_with_a_token_any_address_is_tried_and_without_one_only_loopback(
    monkeypatch: pytest.MonkeyPatch, unreachable: str
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(ClusterUnreachable):
        check_reachable(unreachable)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    with pytest.raises(ClusterUnreachable):
        check_reachable("head.invalid:6379")


@pytest.mark.parametrize(
    ("devices", "found"), [([], False), (["cpu"], False), (["cpu", "cuda"], True), (["cuda", "cpu"], False)]
)
def test_the_device_of_the_latest_attempt_is_read_from_its_events(
    tmp_path: Path, devices: list[str], found: bool
) -> None:
    log = EventLog(tmp_path / "events.jsonl", attempt=1, epoch=0)
    for device in devices:
        log.emit(RunStarted(step=0, total_steps=2, pid=1, device=device, model="tiny", parameters=1))
        log.emit(PhaseChanged(step=0, phase="rollout", detail="run_started"))
    log.close()
    assert used_gpus_before(tmp_path / "events.jsonl") == found
