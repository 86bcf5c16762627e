"""Where the environments of a rollout run: in threads of this process that are watched, and abandoned if they hang.

An environment pool runs the episodes; transcripts are kept by `agent_proxy`. Another pool, whose environments run in
other processes, is in `engine.cluster.environment_actors`.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Protocol

from engine.environments.guard import POLL_SECONDS, Interrupt, LimitExceeded, call_guarded, interrupt
from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.episode import Closed, Episode, EpisodeStart, TurnOutcome

Result = EpisodeStart | TurnOutcome | Closed
EnvironmentResult = tuple[int, Result]  # with the trajectory's row

MOST_GUARDS = 32  # threads of a pool whose environments hang
CLOSE_ALL_SECONDS = 5.0  # for all environments of a rollout that is cancelled


class EnvironmentPool(Protocol):
    """Each row has at most one request at a time. `pending` while a result is yet to be collected."""

    @property
    def pending(self) -> bool: ...

    def start(self, row: int, spec: EpisodeSpec, *, think: bool) -> None:
        """Requests the start of the row's episode."""

    def step(self, row: int, parsed: ParsedResponse) -> None:
        """Requests a turn of the row's episode with a response."""

    def close(self, row: int) -> None:
        """Ends an episode that is not over. Those that are over have been closed."""

    def collect(self, *, block: bool) -> list[EnvironmentResult]:
        """The results that are ready. With `block`, waits for one if there is none, a quarter of a second at most."""


@dataclass(slots=True, eq=False, kw_only=True)
class Request:
    """One call of a row's episode: a turn with the response `parsed`, its start, or only its end."""

    row: int
    episode: Episode
    parsed: ParsedResponse | None = None
    think: bool = False
    closing: bool = False

    def perform(self) -> Result:
        if self.closing:
            return Closed(close_fault=self.episode.close())
        if self.parsed is None:
            return self.episode.start(think=self.think)
        return self.episode.step(self.parsed)

    def result_of_overrun(self) -> Result:
        """What is known of an episode whose environment did not return in time."""
        fault, ending = self.episode.limit_fault(), self.episode.ending
        if self.closing:
            return Closed(close_fault=str(fault))
        if ending is not None:
            return replace(ending, close_fault=str(fault))
        if self.parsed is None:
            return EpisodeStart(fault=fault)
        return TurnOutcome.of_fault(self.parsed, fault)

    def closing_request(self) -> Request | None:
        """To be performed after an overrun: the environment is closed even while another of its calls hangs."""
        if self.episode.is_closed:
            return None
        return Request(row=self.row, episode=self.episode, closing=True)


def perform_guarded(request: Request) -> Result:
    """Performs a request in a thread of its own, and waits for it."""
    try:
        return call_guarded(request.perform, lambda: request.episode.deadline)
    except LimitExceeded:
        result = request.result_of_overrun()
        closing = request.closing_request()
        if closing is not None:
            perform_guarded(closing)
        return result


class Guard(threading.Thread):
    """Performs the requests of a pool one after the other, until it is abandoned in one that hangs."""

    def __init__(self, pool: LocalEnvironments) -> None:
        super().__init__(name="environment", daemon=True)
        self.pool = pool
        self.lock = threading.Lock()
        self.request: Request | None = None
        self.abandoned = False

    def run(self) -> None:
        try:
            while (request := self.pool.requests.get()) is not None:
                self.request = request
                result: Result | BaseException
                try:
                    result = request.perform()
                except Interrupt:
                    return
                except BaseException as error:  # not of the environment: an error of the engine
                    result = error
                with self.lock:
                    if self.abandoned:
                        return
                    self.request = None
                    self.pool.finished.append((request, result))
                self.pool.ring()
        except Interrupt:
            return

    def abandon(self, *, late_at: float) -> Request | None:
        """The request in progress, if its deadline is before `late_at`; the thread performs no other."""
        with self.lock:
            request = self.request
            if request is None or request.episode.deadline > late_at:
                return None
            self.abandoned = True
            return request


class LocalEnvironments:
    """Several environments at a time, in `workers` threads, while the sampler continues with other trajectories. With
    no workers, one after the other in one thread while the sampler waits: fastest for environments that only compute.

    The caller's thread never runs an environment, so it stays responsive: `check_cancelled` is called while it waits,
    and raises to cancel. After each overrun twice as many run at a time, so that many that hang cost a few time limits
    and not one each.
    """

    def __init__(self, workers: int, check_cancelled: Callable[[], None]) -> None:
        self.check_cancelled = check_cancelled
        self.episodes: dict[int, Episode] = {}  # those in progress, by row
        self.in_turn = workers == 0
        self.size = max(1, workers)
        self.guards: list[Guard] = []
        self.open: set[Request] = set()  # not collected yet
        self.queued: list[Request] = []  # not handed to the guards yet
        self.requests: SimpleQueue[Request | None] = SimpleQueue()
        self.finished: deque[tuple[Request, Result | BaseException]] = deque()
        self.bell: SimpleQueue[None] = SimpleQueue()

    @property
    def pending(self) -> bool:
        return bool(self.open)

    def start(self, row: int, spec: EpisodeSpec, *, think: bool) -> None:
        episode = self.episodes[row] = Episode(spec)
        self._add(Request(row=row, episode=episode, think=think))

    def step(self, row: int, parsed: ParsedResponse) -> None:
        self._add(Request(row=row, episode=self.episodes[row], parsed=parsed))

    def close(self, row: int) -> None:
        self._add(Request(row=row, episode=self.episodes[row], closing=True))

    def collect(self, *, block: bool) -> list[EnvironmentResult]:
        """With no workers, all that was requested, so that what is sampled together does not depend on the time it
        takes. Otherwise what is ready, after a quarter of a second at most."""
        self._hand_over()
        until = time.monotonic() + (POLL_SECONDS if block else 0.0)
        while self.open:
            self._end_overruns()
            if self._is_enough():
                break
            left = POLL_SECONDS if self.in_turn else until - time.monotonic()
            if left <= 0:
                break
            try:
                self.bell.get(timeout=left)
            except Empty:
                self.check_cancelled()
        return self._take_finished()

    def shut_down(self) -> None:
        """Drops what is not done, closes the environments of all episodes in progress, and ends the threads."""
        left = {*self.episodes.values(), *(request.episode for request in self.open)}
        self._drop_requests()
        self._close_all([episode for episode in left if not episode.is_closed])
        self._abandon_busy()
        for _ in self.guards:
            self.requests.put(None)

    def ring(self) -> None:
        """Called by a guard that finished a request."""
        if not self.in_turn or self.requests.empty():
            self.bell.put(None)

    def _add(self, request: Request) -> None:
        self.open.add(request)
        self.queued.append(request)
        if not self.in_turn:
            self._hand_over()

    def _hand_over(self) -> None:
        """All at once, so that a thread takes over once and not for each request."""
        for request in self.queued:
            self.requests.put(request)
        self.queued.clear()
        for _ in range(min(self.size, len(self.open)) - len(self.guards)):
            guard = Guard(self)
            self.guards.append(guard)
            guard.start()

    def _is_enough(self) -> bool:
        return len(self.finished) >= len(self.open) if self.in_turn else bool(self.finished)

    def _end_overruns(self) -> None:
        now = time.monotonic()
        for guard in list(self.guards):
            request = guard.abandon(late_at=now)
            if request is None:
                continue
            self.guards.remove(guard)
            self.finished.append((request, request.result_of_overrun()))
            interrupt(guard)
            self.size = min(2 * self.size, max(self.size, MOST_GUARDS))
            if closing := request.closing_request():
                self.open.add(closing)
                self.queued.append(closing)
            self._hand_over()

    def _take_finished(self) -> list[EnvironmentResult]:
        results: list[EnvironmentResult] = []
        while self.finished:
            request, result = self.finished.popleft()
            self.open.discard(request)
            if isinstance(result, BaseException):
                raise result
            if result.is_over:
                self.episodes.pop(request.row, None)
            results.append((request.row, result))
        return results

    def _drop_requests(self) -> None:
        """Those in progress have a moment to finish."""
        self.queued.clear()
        while True:
            try:
                self.requests.get_nowait()
            except Empty:
                break
        until = time.monotonic() + POLL_SECONDS
        while any(guard.request for guard in self.guards) and time.monotonic() < until:
            time.sleep(0.005)
        self._abandon_busy()
        self.finished.clear()
        self.open.clear()

    def _abandon_busy(self) -> None:
        for guard in list(self.guards):
            if guard.abandon(late_at=math.inf):
                self.guards.remove(guard)
                interrupt(guard)

    def _close_all(self, episodes: list[Episode]) -> None:
        """Many at a time, and not again cancelled."""
        self.check_cancelled = lambda: None
        self.size = max(self.size, MOST_GUARDS)
        for row, episode in enumerate(episodes):
            self._add(Request(row=row, episode=episode, closing=True))
        self.in_turn, until = False, time.monotonic() + CLOSE_ALL_SECONDS
        while self.open and time.monotonic() < until:
            self.collect(block=True)


@contextmanager
def local_environments(workers: int, check_cancelled: Callable[[], None] = lambda: None) -> Iterator[LocalEnvironments]:
    """An environment pool of this process; all of its environments are closed when it is left."""
    environments = LocalEnvironments(workers, check_cancelled)
    try:
        yield environments
    finally:
        environments.shut_down()
