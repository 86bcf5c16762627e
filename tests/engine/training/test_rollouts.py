"""Synchronous rollouts and rollouts one step ahead: whose weights they sample with, and who waits for whom."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from engine.training import rollouts
from engine.training.rollouts import OneStepAhead, Synchronous
from engine.training.step_rollout import StepRollout

SYNC = 5.0  # seconds of a weight sync


class Clock:
    """Advances only in weight syncs."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Samplers:
    """Counts updates, and those that the samplers have."""

    def __init__(self) -> None:
        self.updates = 0
        self.synced = 0
        self.clock = Clock()
        self.playing = threading.Lock()
        self.played: dict[int, int] = {}  # by step, the updates of its weights

    def sync_weights(self) -> None:
        assert self.playing.acquire(blocking=False), "weights must not change within a rollout"
        self.synced = self.updates
        self.clock.now += SYNC
        self.playing.release()

    def roll(self, step: int) -> StepRollout:
        with self.playing:
            self.played[step] = self.synced
            return StepRollout(trajectories=[], sampled=step)


def train(samplers: Samplers, rollouts: Any, steps: int) -> list[float]:
    """Staleness of each step."""
    found = []
    for step in range(1, steps + 1):
        rollout = rollouts.take(step)
        assert rollout.sampled == step
        found.append(rollout.metrics.get("policy/staleness", 0.0))
        samplers.updates += 1
        rollouts.policy_updated()
    rollouts.close()
    return found


def test_synchronous_rollouts_use_the_latest_weights() -> None:
    samplers = Samplers()
    assert train(samplers, Synchronous(samplers, samplers.roll), 4) == [0.0] * 4  # type: ignore[arg-type]
    assert samplers.played == {1: 0, 2: 1, 3: 2, 4: 3}


def test_one_step_ahead_each_step_but_the_first_is_one_update_behind_and_none_is_sampled_twice() -> None:
    samplers = Samplers()
    assert train(samplers, OneStepAhead(samplers, samplers.roll, last=4), 4) == [0.0, 1.0, 1.0, 1.0]  # type: ignore[arg-type]
    # step 2 begins before update 1; step 3 after the samplers have update 1
    assert samplers.played == {1: 0, 2: 0, 3: 1, 4: 2}


def test_settling_leaves_idle_samplers_with_the_latest_weights() -> None:
    samplers = Samplers()
    rollouts = OneStepAhead(samplers, samplers.roll, last=3)  # type: ignore[arg-type]
    rollouts.take(1)
    samplers.updates += 1
    rollouts.policy_updated()
    rollouts.settle()
    assert samplers.synced == 1
    assert rollouts.take(2).metrics["policy/staleness"] == 1.0  # it was sampled before, with the older weights


def test_an_error_in_a_rollout_ahead_is_raised_when_its_step_comes() -> None:
    samplers = Samplers()

    def roll(step: int) -> StepRollout:
        if step == 2:
            raise OSError("broken ice")
        return samplers.roll(step)

    rollouts = OneStepAhead(samplers, roll, last=3)  # type: ignore[arg-type]
    rollouts.take(1)
    with pytest.raises(OSError, match="broken ice"):
        rollouts.take(2)
    rollouts.close()


def test_closing_cancels_the_rollout_ahead() -> None:
    samplers, playing, cancelled = Samplers(), threading.Event(), threading.Event()

    def roll(step: int) -> StepRollout:
        if step == 1:
            return samplers.roll(step)
        playing.set()
        try:
            while True:  # no response ever comes
                ahead.check_cancelled()
        finally:
            cancelled.set()

    ahead = OneStepAhead(samplers, roll, last=3)  # type: ignore[arg-type]
    ahead.take(1)
    assert playing.wait(10)
    ahead.close()
    assert cancelled.is_set()


# synchronous: a sync after each of four updates; one step ahead: steps 2, 3 and 4 begin with one
@pytest.mark.parametrize(("ahead", "syncs"), [(False, 4), (True, 3)], ids=["synchronous", "one step ahead"])
def test_the_time_of_weight_syncs_is_counted(ahead: bool, syncs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    samplers = Samplers()
    monkeypatch.setattr(rollouts, "time", samplers.clock)
    kind: Any = OneStepAhead(samplers, samplers.roll, last=4) if ahead else Synchronous(samplers, samplers.roll)  # type: ignore[arg-type]
    train(samplers, kind, 4)
    assert kind.sync.seconds == syncs * SYNC
