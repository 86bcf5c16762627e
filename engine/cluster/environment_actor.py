"""One process that plays environments of any sampler. It has no model and loads no torch."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

from engine.cluster.actor_setup import place, set_up
from engine.cluster.looking import Place
from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.episode import Opening, TurnOutcome
from engine.rollout.stage import Stage


class Rollout(NamedTuple):
    """Of which sampler, by its place; later ones have higher numbers."""

    sampler: int
    number: int


class EnvironmentActor:
    """Several of its methods may run at the same time, each for another trajectory."""

    def __init__(self, *, name: str, stacks: str) -> None:
        set_up(name, Path(stacks), gpu=False)
        self.stages: dict[int, tuple[int, Stage]] = {}  # by sampler, of its newest rollout
        self.lock = threading.Lock()

    def place(self) -> Place:
        return place()

    def open(self, rollout: Rollout, row: int, spec: EpisodeSpec, *, think: bool) -> Opening:
        return self._stage(rollout).open(row, spec, think=think)

    def play(self, rollout: Rollout, row: int, parsed: ParsedResponse) -> TurnOutcome:
        return self._stage(rollout).play(row, parsed)

    def _stage(self, rollout: Rollout) -> Stage:
        """A sampler's next rollout ends its last, whatever of it is left: the sampler may have died in it. What was
        asked in an older one still is played for nobody."""
        with self.lock:
            number, stage = self.stages.get(rollout.sampler, (-1, Stage()))
            if rollout.number < number:
                return Stage()
            if rollout.number > number:
                stage = Stage()
                self.stages[rollout.sampler] = (rollout.number, stage)
            return stage
