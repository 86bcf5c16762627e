"""Where the environments of a rollout run: in the sampler's own thread, or in threads of their own if they block.

An environment pool runs the episodes; transcripts are kept by `agent_proxy`. A third pool, whose environments run in
other processes, is in `engine.cluster.environment_actors`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Protocol

from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.episode import Episode, EpisodeStart, TurnOutcome

EnvironmentResult = tuple[int, EpisodeStart | TurnOutcome]  # with the trajectory's row


class EnvironmentPool(Protocol):
    """Each row has at most one request at a time. `pending` while a result is yet to be collected."""

    @property
    def pending(self) -> bool: ...

    def start(self, row: int, spec: EpisodeSpec, *, think: bool) -> None:
        """Requests the start of the row's episode."""

    def step(self, row: int, parsed: ParsedResponse) -> None:
        """Requests a turn of the row's episode with a response."""

    def collect(self, *, block: bool) -> list[EnvironmentResult]:
        """The results that are ready. With `block`, waits for one if there is none."""


class ActiveEpisodes:
    """The episodes that one process is playing, by row. Different rows may be played concurrently."""

    def __init__(self) -> None:
        self.episodes: dict[int, Episode] = {}

    def start(self, row: int, spec: EpisodeSpec, *, think: bool) -> EpisodeStart:
        episode = Episode(spec)
        start = episode.start(think=think)
        if start.fault is None:
            self.episodes[row] = episode
        return start

    def step(self, row: int, parsed: ParsedResponse) -> TurnOutcome:
        """One turn; an episode that ended is removed."""
        outcome = self.episodes[row].step(parsed)
        if outcome.stop is not None:
            del self.episodes[row]
        return outcome


class InlineEnvironments:
    """In the caller's thread, one after the other."""

    def __init__(self) -> None:
        self.active = ActiveEpisodes()
        self.done: list[EnvironmentResult] = []

    @property
    def pending(self) -> bool:
        return bool(self.done)

    def start(self, row: int, spec: EpisodeSpec, *, think: bool) -> None:
        self.done.append((row, self.active.start(row, spec, think=think)))

    def step(self, row: int, parsed: ParsedResponse) -> None:
        self.done.append((row, self.active.step(row, parsed)))

    def collect(self, *, block: bool) -> list[EnvironmentResult]:
        done, self.done = self.done, []
        return done


class ThreadedEnvironments:
    """Several at a time, while the sampler continues with other trajectories."""

    def __init__(self, executor: ThreadPoolExecutor) -> None:
        self.executor = executor
        self.active = ActiveEpisodes()
        self.requests: dict[Future[Any], int] = {}

    @property
    def pending(self) -> bool:
        return bool(self.requests)

    def start(self, row: int, spec: EpisodeSpec, *, think: bool) -> None:
        self.requests[self.executor.submit(self.active.start, row, spec, think=think)] = row

    def step(self, row: int, parsed: ParsedResponse) -> None:
        self.requests[self.executor.submit(self.active.step, row, parsed)] = row

    def collect(self, *, block: bool) -> list[EnvironmentResult]:
        done, _ = wait(self.requests, timeout=None if block else 0, return_when=FIRST_COMPLETED)
        return [(self.requests.pop(future), future.result()) for future in list(self.requests) if future in done]


@contextmanager
def local_environments(workers: int) -> Iterator[EnvironmentPool]:
    """`workers` threads, or the caller's own for 0."""
    if not workers:
        yield InlineEnvironments()
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="environment") as executor:
        try:
            yield ThreadedEnvironments(executor)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
