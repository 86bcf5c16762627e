"""Environments played beside the sampler: the same trajectories, and no waiting for the slowest."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from engine.environments.frozen_lake import FrozenLake
from engine.environments.registry import ENVIRONMENTS
from engine.policies.batched_sampler import BatchedSampler
from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EnvStateManager
from engine.rollout.environment_crew import Threads
from engine.rollout.episode import TurnOutcome
from engine.rollout.types import Response
from tests.engine.rollout.builders import Script, lake_config, proxy_of, roll_out
from tests.engine.talker import talking_model

DOWN = "go</think><answer>Down</answer>"


def trajectories(workers: int) -> list[Any]:
    return roll_out(lake_config(rollout={"environment_workers": workers, "groups": 3}))


def test_threads_play_the_same_trajectories_as_one_thread() -> None:
    for alone, beside in zip(trajectories(0), trajectories(4), strict=True):
        assert alone.ids == beside.ids
        assert alone.raw_return == beside.raw_return and alone.stop == beside.stop
        assert alone.logprobs == pytest.approx(beside.logprobs, abs=1e-5)


class WaitingLake(FrozenLake):
    """Every reset and step waits for others: how many at once is what `together` has seen of each."""

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


def make_waiting(kind: str, **given: Any) -> WaitingLake:
    return WaitingLake(WaitingLake.Config(**given))


@pytest.mark.parametrize(("workers", "most"), [(0, 1), (3, 3)])
def test_so_many_environments_are_reset_and_step_at_once_as_there_are_workers(
    monkeypatch: pytest.MonkeyPatch, workers: int, most: int
) -> None:
    monkeypatch.setattr("engine.rollout.episode.make_environment", make_waiting)
    monkeypatch.setattr(WaitingLake, "together", {"reset": 0, "step": 0})
    played = trajectories(workers)
    assert WaitingLake.together == {"reset": most, "step": most}
    monkeypatch.undo()
    assert [one.ids for one in played] == [one.ids for one in trajectories(0)]  # in order, with their own seeds


class SlowFirst(FrozenLake):
    """The first member's reset takes until another has replied."""

    replied = threading.Event()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if options and options["chance_seed"] == (seed or 0) * 1009 + 1:
            assert self.replied.wait(10)
        return super().reset(seed=seed, options=options)


class TellsOfResponses(Script):
    def advance(self, *, patient: bool = True) -> list[Response]:
        responses = super().advance(patient=patient)
        if responses:
            SlowFirst.replied.set()
        return responses


def test_a_first_prompt_does_not_wait_for_the_slowest_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", f"{__name__}:SlowFirst")
    monkeypatch.setattr(SlowFirst, "replied", threading.Event())
    config = lake_config(rollout={"environment_workers": 2, "groups": 1, "group_size": 2})
    specs = EnvStateManager(config.environments, groups=1, group_size=2, seed=1).training_batch(1)
    slow, quick = proxy_of(config).rollout(TellsOfResponses([DOWN]), specs)
    assert SlowFirst.replied.is_set()
    assert slow.initial_observation == quick.initial_observation and len(slow.turns) == len(quick.turns) == 4


class InOrder:
    """A sampler that notes what happens, and works on only when the step that is under way has been played."""

    def __init__(self, inner: BatchedSampler) -> None:
        self.inner = inner
        self.told: list[str] = []
        self.working, self.stepped = threading.Event(), threading.Event()

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.told.append(f"asked {row}")
        self.inner.submit(row, ids, max_tokens=max_tokens)

    def restart(self, row: int) -> None:
        self.inner.restart(row)

    def release(self, row: int) -> None:
        self.inner.release(row)

    def advance(self, **how: bool) -> list[Response] | None:
        if "replied 0" in self.told:
            self.working.set()
            assert self.stepped.wait(10)
        responses = self.inner.advance(**how)
        self.told += [f"replied {response.row}" for response in responses or []]
        return responses


class HeldThreads(Threads):
    """Plays the first row only when the sampler is at work again."""

    def __init__(self, pool: ThreadPoolExecutor, sampler: InOrder) -> None:
        super().__init__(pool)
        self.sampler = sampler

    def give(self, row: int, parsed: ParsedResponse) -> None:
        self.asked[self.pool.submit(self._play, row, parsed)] = row

    def _play(self, row: int, parsed: ParsedResponse) -> TurnOutcome:
        if row == 0:
            assert self.sampler.working.wait(10)
        outcome = self.stage.play(row, parsed)
        if row == 0:
            self.sampler.stepped.set()
        return outcome


def test_a_trajectory_whose_environment_has_stepped_does_not_wait_for_anothers_response_to_end() -> None:
    config = lake_config(rollout={"environment_workers": 2, "groups": 1, "group_size": 2}, max_turns=2)
    manager = EnvStateManager(config.environments, groups=1, group_size=2, seed=1)
    inner = BatchedSampler(talking_model(), rows=2, stop_ids=set(), temperature=1.0, seeds=[1])
    sampler, proxy = InOrder(inner), proxy_of(config)
    short, long = manager.training_batch(1)
    # nothing ends a response but its length: 12 tokens of the first trajectory, 300 of the second
    long = replace(long, environment=long.environment.model_copy(update={"max_response_tokens": 300}))
    with ThreadPoolExecutor(2) as pool:
        proxy.play(sampler, proxy.players([short, long]), crew=HeldThreads(pool, sampler))
    assert sampler.told.index("asked 0", sampler.told.index("replied 0")) < sampler.told.index("replied 1")
