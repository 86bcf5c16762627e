"""When a step's trajectories are sampled: in its turn, or one step ahead while the step before is learned from."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol

from engine.training.backend import Backend
from engine.training.step_rollout import StepRollout

CANCEL_SECONDS = 20.0  # a rollout that is broken off looks four times a second whether it is

Roll = Callable[[int], StepRollout]


class Sync:
    """Gives the samplers the newest weights. The backend tells that as a phase of its own, `time/sync`.

    `seconds` is what it has taken so far, for whoever measures a phase around it.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.seconds = 0.0

    def __call__(self) -> None:
        began = time.monotonic()
        self.backend.sync()
        self.seconds += time.monotonic() - began


class RolloutCancelled(Exception):
    """The run is over: whoever still plays for it leaves."""


class Rollouts(Protocol):
    sync: Sync

    def check(self) -> None:
        """Called while trajectories are played; raises when nobody wants them any more."""

    def take(self, step: int) -> StepRollout:
        """The trajectories of `step`."""

    def learned(self) -> None:
        """The policy was updated."""

    def settle(self) -> None:
        """Has the samplers idle and with the newest weights, for whoever else wants to play."""

    def close(self) -> None:
        """No more are wanted."""


class Synchronous:
    """Sampled when asked for, with the newest weights."""

    def __init__(self, backend: Backend, roll: Roll) -> None:
        self.sync, self.roll = Sync(backend), roll

    def check(self) -> None:
        """Whoever wants them waits for them."""

    def take(self, step: int) -> StepRollout:
        return self.roll(step)

    def learned(self) -> None:
        self.sync()

    def settle(self) -> None:
        """They are idle between steps."""

    def close(self) -> None:
        """Nothing is under way."""


class OneStepAhead:
    """While a step is learned from, the next one's trajectories are sampled with the weights from before that update.

    Samplers get new weights between two rollouts, never within one: `policy/staleness` is the updates that a step's
    trajectories are behind, 0 for a first one and 1 from then on.
    """

    def __init__(self, backend: Backend, roll: Roll, *, last: int) -> None:
        self.sync, self.roll, self.last = Sync(backend), roll, last
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="rollout")
        self.ahead: tuple[int, Future[StepRollout], int] | None = None  # step, trajectories, updates they know of
        self.updates = 0
        self.given = 0  # of these, to the samplers
        self.closing = threading.Event()

    def check(self) -> None:
        if self.closing.is_set():
            raise RolloutCancelled

    def take(self, step: int) -> StepRollout:
        rollout = self._taken(step)
        self._give()
        if step < self.last:
            self.ahead = (step + 1, self.thread.submit(self.roll, step + 1), self.given)
        return rollout

    def _taken(self, step: int) -> StepRollout:
        ahead, self.ahead = self.ahead, None
        if ahead is not None and ahead[0] == step:
            rollout = ahead[1].result()
            rollout.metrics["policy/staleness"] = float(self.updates - ahead[2])
            return rollout
        rollout = self.roll(step)
        rollout.metrics["policy/staleness"] = 0.0
        return rollout

    def learned(self) -> None:
        self.updates += 1

    def settle(self) -> None:
        if self.ahead is not None:
            self.ahead[1].exception()  # waits; whoever takes it hears of it
        self._give()

    def _give(self) -> None:
        if self.given < self.updates:
            self.sync()
            self.given = self.updates

    def close(self) -> None:
        """Waits until the rollout that is ahead has left: what it plays with is taken away next."""
        self.closing.set()
        self.thread.shutdown(wait=False, cancel_futures=True)
        if self.ahead is not None:
            wait([self.ahead[1]], timeout=CANCEL_SECONDS)
