"""Who plays the environments: the sampler's own thread, or threads beside it for those that wait on something.

A crew has the environments' side of a rollout; transcripts are kept by `agent_proxy`. A third crew, whose environments
are in other processes, is in `engine.cluster.actor_crew`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Protocol

from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.episode import Opening, TurnOutcome
from engine.rollout.stage import Stage

Answer = tuple[int, Opening | TurnOutcome]  # of which row


class Crew(Protocol):
    """`busy` while something was asked whose answer was not taken yet. A row is asked one thing at a time."""

    @property
    def busy(self) -> bool: ...

    def open(self, row: int, spec: EpisodeSpec, *, think: bool) -> None:
        """Has the row's episode begun."""

    def give(self, row: int, parsed: ParsedResponse) -> None:
        """Has the row's response played."""

    def take(self, *, patient: bool) -> list[Answer]:
        """What is done. Where nothing is and the sampler has nothing to do either, `patient`, it waits."""


class OwnThread:
    """At once, one after the other."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.done: list[Answer] = []

    @property
    def busy(self) -> bool:
        return bool(self.done)

    def open(self, row: int, spec: EpisodeSpec, *, think: bool) -> None:
        self.done.append((row, self.stage.open(row, spec, think=think)))

    def give(self, row: int, parsed: ParsedResponse) -> None:
        self.done.append((row, self.stage.play(row, parsed)))

    def take(self, *, patient: bool) -> list[Answer]:
        done, self.done = self.done, []
        return done


class Threads:
    """Several at a time, while the sampler goes on with other trajectories."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self.pool = pool
        self.stage = Stage()
        self.asked: dict[Future[Any], int] = {}

    @property
    def busy(self) -> bool:
        return bool(self.asked)

    def open(self, row: int, spec: EpisodeSpec, *, think: bool) -> None:
        self.asked[self.pool.submit(self.stage.open, row, spec, think=think)] = row

    def give(self, row: int, parsed: ParsedResponse) -> None:
        self.asked[self.pool.submit(self.stage.play, row, parsed)] = row

    def take(self, *, patient: bool) -> list[Answer]:
        done, _ = wait(self.asked, timeout=None if patient else 0, return_when=FIRST_COMPLETED)
        return [(self.asked.pop(future), future.result()) for future in list(self.asked) if future in done]


@contextmanager
def crew_of(workers: int) -> Iterator[Crew]:
    """`workers` threads; 0 is the caller's own."""
    if not workers:
        yield OwnThread()
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="environment") as pool:
        try:
            yield Threads(pool)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
