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
from engine.cluster.process_snapshots import ActorLocation
from engine.cluster.waiting import ActorDied, result_of
from engine.errors import EnvironmentFault
from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.environment_pool import ActiveEpisodes, EnvironmentResult
from engine.rollout.episode import EpisodeStart, TurnOutcome


class RolloutId(NamedTuple):
    """A sampler, by its index, and the number of its rollout; later ones have higher numbers."""

    sampler: int
    number: int


class EnvironmentActor:
    """Several of its methods may run at the same time, each for a different trajectory."""

    def __init__(self, *, name: str, stacks: str) -> None:
        set_up(name, Path(stacks), gpu=False)
        self.rollouts: dict[int, tuple[int, ActiveEpisodes]] = {}  # the latest of each sampler
        self.lock = threading.Lock()

    def location(self) -> ActorLocation:
        return location()

    def start(self, rollout: RolloutId, row: int, spec: EpisodeSpec, *, think: bool) -> EpisodeStart:
        return self._episodes(rollout).start(row, spec, think=think)

    def step(self, rollout: RolloutId, row: int, parsed: ParsedResponse) -> TurnOutcome:
        return self._episodes(rollout).step(row, parsed)

    def _episodes(self, rollout: RolloutId) -> ActiveEpisodes:
        """A sampler's next rollout discards its last one, finished or not: the sampler may have died in it. A late
        request of an older rollout gets episodes that are thrown away."""
        with self.lock:
            number, episodes = self.rollouts.get(rollout.sampler, (-1, ActiveEpisodes()))
            if rollout.number < number:
                return ActiveEpisodes()
            if rollout.number > number:
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
class Request:
    """`parsed` is the response to be played; None where the episode is to be started."""

    row: int
    parsed: ParsedResponse | None = None


class RemoteEnvironments:
    """An `EnvironmentPool` of actors. A trajectory stays with its actor; when that dies it ends by a fault, as when its
    own environment raises."""

    def __init__(self, assignment: ActorAssignment) -> None:
        self.assignment = assignment
        self.specs: dict[int, EpisodeSpec] = {}
        self.requests: dict[Any, Request] = {}  # by the reference to the result

    @property
    def pending(self) -> bool:
        return bool(self.requests)

    def start(self, row: int, spec: EpisodeSpec, *, think: bool) -> None:
        self.specs[row] = spec
        reference = self._actor(row).start.remote(self.assignment.rollout, row, spec, think=think)
        self.requests[reference] = Request(row=row)

    def step(self, row: int, parsed: ParsedResponse) -> None:
        reference = self._actor(row).step.remote(self.assignment.rollout, row, parsed)
        self.requests[reference] = Request(row=row, parsed=parsed)

    def collect(self, *, block: bool) -> list[EnvironmentResult]:
        if not self.requests:
            return []
        ray = import_ray()
        if block:
            ray.wait(list(self.requests), num_returns=1)
        done, _ = ray.wait(list(self.requests), num_returns=len(self.requests), timeout=0)
        return [self._result(reference) for reference in done]

    def _actor(self, row: int) -> Any:
        return self.assignment.actors[self.assignment.actor_index(row)]

    def _result(self, reference: Any) -> EnvironmentResult:
        request = self.requests.pop(reference)
        index = self.assignment.actor_index(request.row)
        try:
            found: EpisodeStart | TurnOutcome = result_of(
                reference, phase="Rollout", name=f"environment actor {index}", index=index
            )
            return request.row, found
        except ActorDied as death:
            fault = lost(self.specs[request.row], death)
        if request.parsed is None:
            return request.row, EpisodeStart(fault=fault)
        return request.row, TurnOutcome.of_fault(request.parsed, fault)


def lost(spec: EpisodeSpec, death: ActorDied) -> EnvironmentFault:
    environment = spec.environment
    return EnvironmentFault(
        f"The environment {environment.tag!r} ({environment.kind}) with seed {spec.seed} was lost: {death.message}",
        remedy=death.remedy,
    )
