"""Who steps the environments: the sampler's own thread, or threads beside it for those that wait on something."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Protocol

from engine.rollout.types import Reply

Answered = tuple[Any, Reply, Any]  # a player, the reply, and what became of it


class Crew(Protocol):
    """`busy` while something was given whose outcome was not taken yet."""

    @property
    def busy(self) -> bool: ...

    def give(self, player: Any, reply: Reply) -> None:
        """Has `player.play(reply)` done."""

    def take(self, *, patient: bool) -> list[Answered]:
        """What is done. Where nothing is and the sampler has nothing to do either, `patient`, it waits."""


class OwnThread:
    """At once, one after the other."""

    def __init__(self) -> None:
        self.done: list[Answered] = []

    @property
    def busy(self) -> bool:
        return bool(self.done)

    def give(self, player: Any, reply: Reply) -> None:
        self.done.append((player, reply, player.play(reply)))

    def take(self, *, patient: bool) -> list[Answered]:
        done, self.done = self.done, []
        return done


class Threads:
    """Several at a time, while the sampler goes on with other trajectories."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self.pool = pool
        self.given: dict[Future[Any], tuple[Any, Reply]] = {}

    @property
    def busy(self) -> bool:
        return bool(self.given)

    def give(self, player: Any, reply: Reply) -> None:
        self.given[self.pool.submit(player.play, reply)] = (player, reply)

    def take(self, *, patient: bool) -> list[Answered]:
        done, _ = wait(self.given, timeout=None if patient else 0, return_when=FIRST_COMPLETED)
        return [(*self.given.pop(future), future.result()) for future in list(self.given) if future in done]


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
