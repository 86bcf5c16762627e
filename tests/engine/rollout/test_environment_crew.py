"""Environments stepped beside the sampler: the same trajectories, and no waiting for the slowest."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from engine.environments.frozen_lake import FrozenLake
from tests.engine.rollout.builders import lake_config, roll_out


def trajectories(workers: int) -> list[Any]:
    return roll_out(lake_config(rollout={"environment_workers": workers, "groups": 3}))


def test_threads_play_the_same_trajectories_as_one_thread() -> None:
    for alone, beside in zip(trajectories(0), trajectories(4), strict=True):
        assert alone.ids == beside.ids
        assert alone.raw_return == beside.raw_return and alone.stop == beside.stop
        assert alone.logprobs == pytest.approx(beside.logprobs, abs=1e-5)


class WaitingLake(FrozenLake):
    """Every step waits for others: how many at once is what `together` has seen."""

    together = 0
    inside = 0
    lock = threading.Lock()

    def step(self, action: int) -> Any:
        with self.lock:
            WaitingLake.inside += 1
            WaitingLake.together = max(WaitingLake.together, WaitingLake.inside)
        time.sleep(0.05)
        with self.lock:
            WaitingLake.inside -= 1
        return super().step(action)


def make_waiting(kind: str, **given: Any) -> WaitingLake:
    return WaitingLake(WaitingLake.Config(**given))


@pytest.mark.parametrize(("workers", "most"), [(0, 1), (3, 3)])
def test_so_many_environments_step_at_once_as_there_are_workers(
    monkeypatch: pytest.MonkeyPatch, workers: int, most: int
) -> None:
    monkeypatch.setattr("engine.rollout.env_state_manager.make_environment", make_waiting)
    WaitingLake.together = 0
    trajectories(workers)
    assert WaitingLake.together == most
