"""The actors of one run: made in their bundles, named, ended, and proved to be gone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.cluster.connection import import_ray
from engine.cluster.learner_actor import LearnerActor
from engine.cluster.needs import Needs
from engine.cluster.sampler_actor import SamplerActor
from engine.config import RunConfig

GPU_THREADS = 4
GONE_SECONDS = 20.0
STACK_SECONDS = 1.0


@dataclass(slots=True, kw_only=True)
class Troupe:
    """`samplers` and `learners` in order; `group` is the placement group that they live in."""

    config: RunConfig
    needs: Needs
    group: Any
    stacks: Path
    way: str  # how weights get to the samplers
    samplers: list[Any] = field(default_factory=list)
    learners: list[Any] = field(default_factory=list)
    places: list[tuple[str, int]] = field(default_factory=list)
    hired: int = 0  # names are used once: a dead actor's name is not free at once

    def hire(self) -> None:
        self.learners = [self._learner(rank) for rank in range(len(self.needs.learners))]
        self.samplers = [self.sampler(place) for place in range(len(self.needs.samplers))]

    def sampler(self, place: int) -> Any:
        rows = -(-self.config.rollout.groups * self.config.rollout.group_size // len(self.needs.samplers))
        return self._make(
            SamplerActor,
            "sampler",
            place,
            self.needs.samplers[place],
            self.needs.sampler_gpus,
            {"rows": rows, "transfer": "" if self.way == "object_store" else self.way},
        )

    def _learner(self, rank: int) -> Any:
        size = len(self.needs.learners)
        return self._make(
            LearnerActor, "learner", rank, self.needs.learners[rank], self.needs.learner_gpus, {}, rank, size
        )

    def _make(
        self, kind: type, role: str, place: int, bundle: int, gpus: float, more: dict[str, Any], *given: Any
    ) -> Any:
        ray = import_ray()
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        self.hired += 1
        name = f"{role}-{place}-{self.hired}"
        options = ray.remote(kind).options(
            name=name,
            num_cpus=1,
            num_gpus=gpus,
            max_restarts=0,
            max_concurrency=1,
            scheduling_strategy=PlacementGroupSchedulingStrategy(
                placement_group=self.group, placement_group_bundle_index=bundle
            ),
        )
        common = {"name": name, "stacks": str(self.stacks), "threads": self._threads()}
        return options.remote(self.config.model_dump_json(), *given, **common, **more)

    def _threads(self) -> int:
        if self.needs.gpus:
            return GPU_THREADS
        cores = self.config.threads or os.cpu_count() or 1
        return max(1, cores // (len(self.needs.samplers) + len(self.needs.learners)))

    def dismiss(self) -> list[str]:
        """Ends all actors and gives back what they held; names of those that would not go, by Ray's own view."""
        ray = import_ray()
        from ray.util.placement_group import remove_placement_group

        for actor in [*self.samplers, *self.learners]:
            ray.kill(actor, no_restart=True)
        remove_placement_group(self.group)
        return wait_until_gone(lambda: list(ray.util.list_named_actors()))

    def note(self, places: list[tuple[str, int]]) -> None:
        """Where actors are, as they said while they still answered: node and process id."""
        self.places += places

    def write_stacks(self) -> None:
        """Has every actor on this machine write down what it is doing, whatever it hangs in (see `actor_setup`)."""
        here = import_ray().get_runtime_context().get_node_id()
        for node, pid in self.places:
            if node == here:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGUSR1)
        time.sleep(STACK_SECONDS)


def wait_until_gone(alive: Callable[[], list[str]]) -> list[str]:
    deadline = time.monotonic() + GONE_SECONDS
    while (left := alive()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left
