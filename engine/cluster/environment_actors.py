"""Environments in Ray actors, so that slow ones delay neither the sampler nor each other.

`EnvironmentActor` is the process that runs them, for any sampler, without a model or torch; `RemoteEnvironments` is the
sampler's side.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from engine.cluster.actor_process import location, set_up
from engine.cluster.connection import import_ray
from engine.cluster.waiting import ActorDied, result_of
from engine.environments.guard import POLL_SECONDS
from engine.errors import EnvironmentFault
from engine.process_snapshots import ActorLocation
from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.environment_pool import EnvironmentResult, Request, Result, perform_guarded
from engine.rollout.episode import Closed, Episode, EpisodeStart, TurnOutcome


class RolloutId(NamedTuple):
    """A sampler, by its index, and the number of its rollout; later ones have higher numbers."""

    sampler: int
    number: int


class ActiveEpisodes:
    """The episodes of one rollout that an actor is playing, by row. Different rows may be played concurrently, each
    call in a thread that is abandoned if it hangs."""

    def __init__(self) -> None:
        self.episodes: dict[int, Episode] = {}

    def start(self, row: int, spec: EpisodeSpec, *, think: bool) -> Result:
        self.episodes[row] = Episode(spec)
        return self._perform(Request(row=row, episode=self.episodes[row], think=think))

    def step(self, row: int, parsed: ParsedResponse) -> Result:
        return self._perform(Request(row=row, episode=self.episodes[row], parsed=parsed))

    def close(self, row: int) -> Result:
        return self._perform(Request(row=row, episode=self.episodes[row], closing=True))

    def close_all(self) -> None:
        for row in list(self.episodes):
            self.close(row)

    def _perform(self, request: Request) -> Result:
        """An episode that ended is removed."""
        result = perform_guarded(request)
        if result.is_over:
            self.episodes.pop(request.row, None)
        return result


class EnvironmentActor:
    """Several of its methods may run at the same time, each for a different trajectory."""

    def __init__(self, *, name: str, stacks: str) -> None:
        set_up(name, Path(stacks), gpu=False)
        self.rollouts: dict[int, tuple[int, ActiveEpisodes]] = {}  # the latest of each sampler
        self.lock = threading.Lock()

    def location(self) -> ActorLocation:
        return location()

    def start(self, rollout: RolloutId, row: int, spec: EpisodeSpec, *, think: bool) -> Result:
        return self._episodes(rollout).start(row, spec, think=think)

    def step(self, rollout: RolloutId, row: int, parsed: ParsedResponse) -> Result:
        return self._episodes(rollout).step(row, parsed)

    def close(self, rollout: RolloutId, row: int) -> Result:
        return self._episodes(rollout).close(row)

    def close_all(self) -> None:
        """Before the actor ends: closes the environments of all rollouts."""
        for _, episodes in list(self.rollouts.values()):
            episodes.close_all()

    def _episodes(self, rollout: RolloutId) -> ActiveEpisodes:
        """A sampler's next rollout discards its last one, finished or not: the sampler may have died in it. A late
        request of an older rollout gets episodes that are thrown away."""
        with self.lock:
            number, episodes = self.rollouts.get(rollout.sampler, (-1, ActiveEpisodes()))
            if rollout.number < number:
                return ActiveEpisodes()
            if rollout.number > number:
                threading.Thread(target=episodes.close_all, name="closing", daemon=True).start()
                episodes = ActiveEpisodes()
                self.rollouts[rollout.sampler] = (rollout.number, episodes)
            return episodes


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorAssignment:
    """Which actors one rollout of a sampler uses. Its first trajectory goes to the actor at index `first`, the next one
    to the next actor, and so on in turn."""

    actors: list[Any]
    rollout: RolloutId
    first: int

    def actor_index(self, row: int) -> int:
        return (self.first + row) % len(self.actors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """`parsed` is the response to be played, if it plays one; `closing` where the episode is only ended."""

    row: int
    parsed: ParsedResponse | None = None
    closing: bool = False


class RemoteEnvironments:
    """An `EnvironmentPool` of actors. A trajectory stays with its actor; when that dies it ends by a fault, as when its
    own environment raises."""

    def __init__(self, assignment: ActorAssignment) -> None:
        self.assignment = assignment
        self.specs: dict[int, EpisodeSpec] = {}
        self.calls: dict[Any, Call] = {}  # by the reference to the result

    @property
    def pending(self) -> bool:
        return bool(self.calls)

    def start(self, row: int, spec: EpisodeSpec, *, think: bool) -> None:
        self.specs[row] = spec
        reference = self._actor(row).start.remote(self.assignment.rollout, row, spec, think=think)
        self.calls[reference] = Call(row=row)

    def step(self, row: int, parsed: ParsedResponse) -> None:
        reference = self._actor(row).step.remote(self.assignment.rollout, row, parsed)
        self.calls[reference] = Call(row=row, parsed=parsed)

    def close(self, row: int) -> None:
        reference = self._actor(row).close.remote(self.assignment.rollout, row)
        self.calls[reference] = Call(row=row, closing=True)

    def collect(self, *, block: bool) -> list[EnvironmentResult]:
        if not self.calls:
            return []
        ray = import_ray()
        if block:
            ray.wait(list(self.calls), num_returns=1, timeout=POLL_SECONDS)
        done, _ = ray.wait(list(self.calls), num_returns=len(self.calls), timeout=0)
        return [self._result(reference) for reference in done]

    def _actor(self, row: int) -> Any:
        return self.assignment.actors[self.assignment.actor_index(row)]

    def _result(self, reference: Any) -> EnvironmentResult:
        call = self.calls.pop(reference)
        index = self.assignment.actor_index(call.row)
        try:
            found: Result = result_of(reference, phase="Rollout", name=f"environment actor {index}", index=index)
            return call.row, found
        except ActorDied as death:
            fault = lost(self.specs[call.row], death)
        if call.closing:
            return call.row, Closed(close_fault=str(fault))
        if call.parsed is None:
            return call.row, EpisodeStart(fault=fault)
        return call.row, TurnOutcome.of_fault(call.parsed, fault)


def lost(spec: EpisodeSpec, death: ActorDied) -> EnvironmentFault:
    environment = spec.environment
    return EnvironmentFault(
        f"The environment {environment.tag!r} ({environment.kind}) with seed {spec.seed} was lost: {death.message}",
        remedy=death.remedy,
        kind="environment actor died",
    )
