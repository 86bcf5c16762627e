"""Small suites, and models that play them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from engine.evaluation.models import EndpointModel, LocalModel
from engine.policies.api_key import ApiKey
from engine.policies.chat_endpoint import ChatEndpoint, EndpointSettings
from engine.suites.outcomes import Outcome, read_outcomes
from engine.suites.play import play_suite, run_config
from engine.suites.policy import endpoint_policy, local_policy
from engine.suites.resolve import SuiteDraft, resolve
from engine.suites.store import Store
from engine.suites.suite import Suite
from engine.suites.summary import SuiteSummary
from tests.engine.evaluation.chat_server import ChatServer


def lakes(*, count: int = 4, samples: int = 1, **fields: Any) -> Suite:
    """One item, `Lake`, with little time to play."""
    environment = {"kind": "frozen_lake", "max_turns": 2, "max_actions": 4}
    item = {"name": "Lake", "environment": environment, "count": count, "samples": samples, **fields}
    return resolve(SuiteDraft.model_validate({"name": "lakes", "items": [item]}))


@cache
def tiny() -> LocalModel:
    return LocalModel(run_config(lakes().items[0], threads=1), "tiny")


def play_locally(suite: Suite, directory: Path, *, at_once: int = 64) -> SuiteSummary:
    model = tiny()
    model.at_once = at_once
    store = Store(directory, suite)
    try:
        return play_suite(suite, model, local_policy("tiny"), store)
    finally:
        store.close()


def play_at(server: ChatServer, suite: Suite, directory: Path, *, at_once: int = 256) -> SuiteSummary:
    """Through an endpoint, with retries that take milliseconds."""
    settings = EndpointSettings(url=server.address, model="moves", backoff=0.01, retries=1, timeout=5.0)
    endpoint = ChatEndpoint(settings, ApiKey(), concurrency=2)
    model = EndpointModel(run_config(suite.items[0]), endpoint, concurrency=2)
    model.at_once = at_once
    store = Store(directory, suite)
    try:
        return play_suite(suite, model, endpoint_policy(server.address, "moves"), store)
    finally:
        store.close()
        model.close()


def results(directory: Path) -> dict[tuple[str, int], Outcome]:
    """By problem and sample, without what differs between sessions: times, and where the trajectory is."""
    return {
        (one.problem, one.sample): replace(one, seconds=0.0, file="", offset=0, length=0)
        for one in read_outcomes(directory)
    }
