"""Where Ray is, whether it may be reached there, and waiting for one that was there before."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.cluster.connection import check_answers, connect_again, is_loopback
from engine.cluster.earlier import worked_on_gpus
from engine.cluster.faults import NoCluster, Unanswered
from engine.training.run_directory import EventLog
from tests.engine.cluster.runs import needs_ray


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """`RAY_ADDRESS`, where nothing answers."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and not listening
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        yield address


@needs_ray
def test_a_cluster_that_is_away_is_waited_for_in_words_and_given_up_in_the_end(nobody: str) -> None:
    told: list[str] = []
    with pytest.raises(NoCluster, match=r"nothing answers there.* did not come back within 0\.02 minutes") as given_up:
        connect_again(1, namespace="away", minutes=0.02, tell=told.append, check_cancelled=lambda: None)
    assert not isinstance(given_up.value, Unanswered)
    assert len(told) == 1 and nobody in told[0] and told[0].startswith("waiting for Ray to come back.")
    assert "cluster.wait_minutes" in given_up.value.remedy


@needs_ray
def test_who_waits_for_a_cluster_may_leave(nobody: str) -> None:
    def leave() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        connect_again(1, namespace="away", minutes=0, tell=lambda words: None, check_cancelled=leave)


@needs_ray
def test_what_is_no_address_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "head")
    told: list[str] = []
    with pytest.raises(NoCluster, match="no address of a cluster"):
        connect_again(1, namespace="away", minutes=0, tell=told.append, check_cancelled=lambda: None)
    assert told == []


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("10.0.0.5", False),
        ("0.0.0.0", False),
        ("head", False),
        ("127.0.0.1.example.com", False),
    ],
)
def test_loopback_is_known_by_its_addresses(host: str, here: bool) -> None:
    assert is_loopback(host) == here


@pytest.mark.parametrize("address", ["192.0.2.5:6379", "[2001:db8::1]:6379", "head.invalid:6379"])
def test_ray_is_reached_over_a_network_only_with_a_token(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    for mode in ("", "disabled"):
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
        with pytest.raises(NoCluster, match="reached over a network, and RAY_AUTH_MODE is not token") as refused:
            check_answers(address)
        assert "RAY_AUTH_TOKEN" in refused.value.remedy and not isinstance(refused.value, Unanswered)


def test_with_a_token_any_address_is_asked_and_without_one_this_machines_own(
    monkeypatch: pytest.MonkeyPatch, nobody: str
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(Unanswered):
        check_answers(nobody)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    with pytest.raises(Unanswered):
        check_answers("head.invalid:6379")


@pytest.mark.parametrize(
    ("devices", "found"), [([], False), (["cpu"], False), (["cpu", "cuda"], True), (["cuda", "cpu"], False)]
)
def test_what_the_newest_attempt_worked_on_is_read_from_its_events(
    tmp_path: Path, devices: list[str], found: bool
) -> None:
    log = EventLog(tmp_path / "events.jsonl", attempt=1, epoch=0)
    for device in devices:
        log.emit(
            "run_started",
            step=0,
            total_steps=2,
            resumed_from=None,
            pid=1,
            device=device,
            start="",
            model="tiny",
            parameters=1,
            trainable_parameters=1,
            versions={},
        )
        log.emit("phase_changed", step=0, phase="rollout", detail="run_started")
    log.close()
    assert worked_on_gpus(tmp_path / "events.jsonl") == found
