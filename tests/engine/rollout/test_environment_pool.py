"""Environments in threads next to the sampler: the same trajectories, and no waiting for the slowest."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from engine.environments.frozen_lake import FrozenLake
from engine.environments.registry import ENVIRONMENTS
from engine.policies.batched_sampler import BatchedSampler
from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EnvStateManager
from engine.rollout.environment_pool import Guard, LocalEnvironments
from engine.rollout.episode import Episode, TurnOutcome
from engine.rollout.types import Response
from tests.engine.rollout.builders import Script, lake_config, proxy_of, roll_out
from tests.engine.talker import talking_model

DOWN = "go</think><answer>Down</answer>"


def trajectories(workers: int) -> list[Any]:
    return roll_out(lake_config(rollout={"environment_workers": workers, "groups": 3}))


def test_threads_play_the_same_trajectories_as_one_thread() -> None:
    for inline, threaded in zip(trajectories(0), trajectories(4), strict=True):
        assert inline.ids == threaded.ids
        assert inline.raw_return == threaded.raw_return and inline.stop == threaded.stop
        assert inline.logprobs == pytest.approx(threaded.logprobs, abs=1e-5)


class WaitingLake(FrozenLake):
    """Every reset and step waits a moment; `together` is the largest number of each at the same time."""

    together = {"reset": 0, "step": 0}
    inside = {"reset": 0, "step": 0}
    lock = threading.Lock()

    def reset(self, **given: Any) -> Any:
        self._wait("reset")
        return super().reset(**given)

    def step(self, action: int) -> Any:
        self._wait("step")
        return super().step(action)

    def _wait(self, where: str) -> None:
        with self.lock:
            self.inside[where] += 1
            self.together[where] = max(self.together[where], self.inside[where])
        time.sleep(0.05)
        with self.lock:
            self.inside[where] -= 1


@pytest.mark.parametrize(("workers", "most"), [(0, 1), (3, 3)])
def test_as_many_environments_reset_and_step_at_once_as_there_are_workers(
    monkeypatch: pytest.MonkeyPatch, workers: int, most: int
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", f"{__name__}:WaitingLake")
    monkeypatch.setattr(WaitingLake, "together", {"reset": 0, "step": 0})
    played = trajectories(workers)
    assert WaitingLake.together == {"reset": most, "step": most}
    monkeypatch.undo()
    assert [one.ids for one in played] == [one.ids for one in trajectories(0)]  # in order, each with its own seed


class SlowFirst(FrozenLake):
    """The first member's reset blocks until another member has a response."""

    responded = threading.Event()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if options and options["chance_seed"] == (seed or 0) * 1009 + 1:
            assert self.responded.wait(10)
        return super().reset(seed=seed, options=options)


class SignallingScript(Script):
    def advance(self, *, block: bool = True) -> list[Response]:
        responses = super().advance(block=block)
        if responses:
            SlowFirst.responded.set()
        return responses


def test_a_first_prompt_does_not_wait_for_the_slowest_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", f"{__name__}:SlowFirst")
    monkeypatch.setattr(SlowFirst, "responded", threading.Event())
    config = lake_config(rollout={"environment_workers": 2, "groups": 1, "group_size": 2})
    specs = EnvStateManager(config.environments, groups=1, group_size=2, seed=1).training_batch(1)
    slow, quick = proxy_of(config).rollout(SignallingScript([DOWN]), specs)
    assert SlowFirst.responded.is_set()
    assert slow.initial_observation == quick.initial_observation and len(slow.turns) == len(quick.turns) == 4


class RecordingSampler:
    """A sampler that records events, and after the first response blocks until its environment has stepped."""

    working, stepped = threading.Event(), threading.Event()

    def __init__(self, inner: BatchedSampler) -> None:
        self.inner = inner
        self.events: list[str] = []

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.events.append(f"submit {row}")
        self.inner.submit(row, ids, max_tokens=max_tokens)

    def restart(self, row: int) -> None:
        self.inner.restart(row)

    def release(self, row: int) -> None:
        self.inner.release(row)

    def advance(self, **options: bool) -> list[Response] | None:
        if "response 0" in self.events:
            self.working.set()
            assert self.stepped.wait(10)
        responses = self.inner.advance(**options)
        self.events += [f"response {response.row}" for response in responses or []]
        return responses


class SlowEpisode(Episode):
    """Plays the turns of the first member only once the sampler is generating again."""

    def play(self, parsed: ParsedResponse) -> TurnOutcome:
        if self.spec.member:
            return super().play(parsed)
        assert RecordingSampler.working.wait(10)
        RecordingSampler.stepped.set()
        return super().play(parsed)


def test_a_trajectory_whose_environment_has_stepped_does_not_wait_for_another_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.rollout.environment_pool.Episode", SlowEpisode)
    config = lake_config(rollout={"environment_workers": 2, "groups": 1, "group_size": 2}, max_turns=2)
    manager = EnvStateManager(config.environments, groups=1, group_size=2, seed=1)
    inner = BatchedSampler(talking_model(), rows=2, stop_ids=set(), temperature=1.0, seeds=[1])
    sampler, proxy = RecordingSampler(inner), proxy_of(config)
    short, long = manager.training_batch(1)
    # nothing ends a response but its length: 12 tokens of the first trajectory, 300 of the second
    long = replace(long, environment=long.environment.model_copy(update={"max_response_tokens": 300}))
    proxy.play(sampler, proxy.players([short, long]))
    assert sampler.events.index("submit 0", sampler.events.index("response 0")) < sampler.events.index("response 1")


def test_what_an_abandoned_request_returns_later_is_dropped_and_its_thread_ends() -> None:
    """It may be past the environment's code, where an interrupt no longer reaches it."""
    pool, returns = LocalEnvironments(1, lambda: None), threading.Event()
    request: Any = SimpleNamespace(perform=returns.wait, episode=SimpleNamespace(deadline=0.0))
    guard = Guard(pool)
    guard.start()
    pool.requests.put(request)
    while guard.request is None:
        time.sleep(0.001)
    assert guard.abandon(late_at=1.0) is request
    returns.set()
    guard.join(10)
    assert not guard.is_alive()
    assert not pool.finished
