"""A crew whose environments are in Ray actors, so that slow ones hold up neither the sampler nor each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.cluster.connection import import_ray
from engine.cluster.environment_actor import Rollout
from engine.cluster.waiting import ActorDied, answer_of
from engine.errors import EnvironmentFault
from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.environment_crew import Answer
from engine.rollout.episode import Opening, TurnOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The environment actors as one rollout of a sampler has them; its first trajectory is played by the actor `first`,
    the next one by the next, and so on in turn."""

    actors: list[Any]
    rollout: Rollout
    first: int

    def place_of(self, row: int) -> int:
        return (self.first + row) % len(self.actors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """`parsed` is the response that is played, None where the episode is begun."""

    row: int
    parsed: ParsedResponse | None = None


class Actors:
    """A trajectory stays with its actor. When that dies it ends by a fault, as when its own environment raises."""

    def __init__(self, stages: Stages) -> None:
        self.stages = stages
        self.specs: dict[int, EpisodeSpec] = {}
        self.asked: dict[Any, Asked] = {}  # by the reference to the answer

    @property
    def busy(self) -> bool:
        return bool(self.asked)

    def open(self, row: int, spec: EpisodeSpec, *, think: bool) -> None:
        self.specs[row] = spec
        reference = self._actor(row).open.remote(self.stages.rollout, row, spec, think=think)
        self.asked[reference] = Asked(row=row)

    def give(self, row: int, parsed: ParsedResponse) -> None:
        reference = self._actor(row).play.remote(self.stages.rollout, row, parsed)
        self.asked[reference] = Asked(row=row, parsed=parsed)

    def take(self, *, patient: bool) -> list[Answer]:
        if not self.asked:
            return []
        ray = import_ray()
        if patient:
            ray.wait(list(self.asked), num_returns=1)
        done, _ = ray.wait(list(self.asked), num_returns=len(self.asked), timeout=0)
        return [self._answer(reference) for reference in done]

    def _actor(self, row: int) -> Any:
        return self.stages.actors[self.stages.place_of(row)]

    def _answer(self, reference: Any) -> Answer:
        asked = self.asked.pop(reference)
        place = self.stages.place_of(asked.row)
        try:
            found: Opening | TurnOutcome = answer_of(
                reference, what="Rollout", name=f"environment actor {place}", place=place
            )
            return asked.row, found
        except ActorDied as death:
            fault = lost(self.specs[asked.row], death)
        return asked.row, Opening(fault=fault) if asked.parsed is None else TurnOutcome.of_fault(asked.parsed, fault)


def lost(spec: EpisodeSpec, death: ActorDied) -> EnvironmentFault:
    environment = spec.environment
    return EnvironmentFault(
        f"The environment {environment.tag!r} ({environment.kind}) with seed {spec.seed} was lost: {death.message}",
        remedy=death.remedy,
    )
