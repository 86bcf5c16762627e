"""When a step's trajectories are sampled: in the step itself, or one step ahead while the previous step is trained."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol

from engine.training.backend import Backend
from engine.training.step_rollout import StepRollout

CANCEL_SECONDS = 20.0  # a rollout checks for cancellation four times a second

RollOut = Callable[[int], StepRollout]


class WeightSync:
    """Gives the samplers the latest weights. The backend reports that as a separate phase, `time/sync`.

    `seconds` is the total so far, to be subtracted from the time of a phase that includes a sync.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.seconds = 0.0

    def __call__(self) -> None:
        started = time.monotonic()
        self.backend.sync_weights()
        self.seconds += time.monotonic() - started


class RolloutCancelled(Exception):
    """The run is over, and a rollout for a later step is no longer needed."""


class Rollouts(Protocol):
    sync: WeightSync

    def check_cancelled(self) -> None:
        """Called during a rollout; raises when it is no longer needed."""

    def take(self, step: int) -> StepRollout:
        """The trajectories of `step`."""

    def policy_updated(self) -> None:
        """To be called after each update of the policy."""

    def settle(self) -> None:
        """Makes the samplers idle and gives them the latest weights, so that an evaluation can use them."""

    def close(self) -> None:
        """Cancels what is in progress."""


class Synchronous:
    """Each step samples its own trajectories, with the latest weights."""

    def __init__(self, backend: Backend, roll_out: RollOut) -> None:
        self.sync, self.roll_out = WeightSync(backend), roll_out

    def check_cancelled(self) -> None:
        """Never cancelled: the step waits for its rollout."""

    def take(self, step: int) -> StepRollout:
        return self.roll_out(step)

    def policy_updated(self) -> None:
        self.sync()

    def settle(self) -> None:
        """The samplers are idle between steps."""

    def close(self) -> None:
        """Nothing is in progress between steps."""


class OneStepAhead:
    """While a step trains, the next step's trajectories are sampled with the weights from before the update.

    Samplers get new weights between two rollouts, never within one. `policy/staleness` is the number of updates that
    a step's trajectories are behind: 0 for the first step and 1 from then on.
    """

    def __init__(self, backend: Backend, roll_out: RollOut, *, last: int) -> None:
        self.sync, self.roll_out, self.last = WeightSync(backend), roll_out, last
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="rollout")
        self.ahead: tuple[int, Future[StepRollout], int] | None = None  # step, trajectories, updates of their policy
        self.updates = 0
        self.synced = 0  # how many of the updates the samplers have
        self.closing = threading.Event()

    def check_cancelled(self) -> None:
        if self.closing.is_set():
            raise RolloutCancelled

    def take(self, step: int) -> StepRollout:
        rollout = self._rollout_of(step)
        self._sync_if_behind()
        if step < self.last:
            self.ahead = (step + 1, self.thread.submit(self.roll_out, step + 1), self.synced)
        return rollout

    def _rollout_of(self, step: int) -> StepRollout:
        ahead, self.ahead = self.ahead, None
        if ahead is not None and ahead[0] == step:
            rollout = ahead[1].result()
            rollout.metrics["policy/staleness"] = float(self.updates - ahead[2])
            return rollout
        rollout = self.roll_out(step)
        rollout.metrics["policy/staleness"] = 0.0
        return rollout

    def policy_updated(self) -> None:
        self.updates += 1

    def settle(self) -> None:
        if self.ahead is not None:
            self.ahead[1].exception()  # waits; `take` raises it
        self._sync_if_behind()

    def _sync_if_behind(self) -> None:
        if self.synced < self.updates:
            self.sync()
            self.synced = self.updates

    def close(self) -> None:
        """Waits until the rollout in progress is cancelled, since its backend is closed next."""
        self.closing.set()
        self.thread.shutdown(wait=False, cancel_futures=True)
        if self.ahead is not None:
            wait([self.ahead[1]], timeout=CANCEL_SECONDS)
