"""The actors of one run: made in their bundles, named, ended, and proved to be gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.cluster.connection import import_ray
from engine.cluster.environment_actor import EnvironmentActor
from engine.cluster.freeing import Freed, free
from engine.cluster.learner_actor import LearnerActor
from engine.cluster.looking import Place
from engine.cluster.needs import Needs
from engine.cluster.sampler_actor import SamplerActor
from engine.config import RunConfig
from engine.cpu_threads import threads_for

GPU_THREADS = 4
Asked = tuple[str, Any]  # who was asked, and the reference to the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A class of actors: the bundles of its places, and how many calls one of it works on at a time."""

    kind: type
    name: str
    bundles: list[int]
    gpus: float = 0.0
    threads: int = 1


@dataclass(slots=True, kw_only=True)
class Troupe:
    """Each role's actors in order; `group` is the placement group that they live in."""

    config: RunConfig
    needs: Needs
    group: Any
    stacks: Path
    way: str  # how weights get to the samplers
    samplers: list[Any] = field(default_factory=list)
    learners: list[Any] = field(default_factory=list)
    environments: list[Any] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    hired: int = 0  # names are used once: a dead actor's name is not free at once

    def hire(self) -> None:
        self.learners = [self._learner(rank) for rank in range(len(self.needs.learners))]
        self.samplers = [self.sampler(place) for place in range(len(self.needs.samplers))]
        self.environments = [self.environment(place) for place in range(len(self.needs.environments))]

    def sampler(self, place: int) -> Any:
        rows = -(-self.config.rollout.groups * self.config.rollout.group_size // len(self.needs.samplers))
        gpus = self.needs.sampler_gpus
        more = {"rows": rows, "transfer": "" if self.way == "object_store" else self.way}
        role = Role(kind=SamplerActor, name="sampler", bundles=self.needs.samplers, gpus=gpus)
        return self._make(role, place, self.config.model_dump_json(), **self._model_on(gpus), **more)

    def environment(self, place: int) -> Any:
        """Each thread of it plays another trajectory."""
        role = Role(
            kind=EnvironmentActor,
            name="environment",
            bundles=self.needs.environments,
            threads=max(1, self.config.rollout.environment_workers),
        )
        return self._make(role, place)

    def replace_sampler(self, place: int) -> Any:
        """A sampler in place of one that does not answer, which may be alive and hold its devices."""
        import_ray().kill(self.samplers[place], no_restart=True)
        self.samplers[place] = self.sampler(place)
        return self.samplers[place]

    def replace_environment(self, place: int) -> Any:
        """An environment actor in place of one that does not answer."""
        import_ray().kill(self.environments[place], no_restart=True)
        self.environments[place] = self.environment(place)
        return self.environments[place]

    def _learner(self, rank: int) -> Any:
        gpus, size = self.needs.learner_gpus, len(self.needs.learners)
        role = Role(kind=LearnerActor, name="learner", bundles=self.needs.learners, gpus=gpus)
        return self._make(role, rank, self.config.model_dump_json(), rank, size, **self._model_on(gpus))

    def _make(self, role: Role, place: int, *given: Any, **more: Any) -> Any:
        ray = import_ray()
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        self.hired += 1
        name = f"{role.name}-{place}-{self.hired}"
        options = ray.remote(role.kind).options(
            name=name,
            num_cpus=1,
            num_gpus=role.gpus,
            max_restarts=0,
            max_concurrency=role.threads,
            scheduling_strategy=PlacementGroupSchedulingStrategy(
                placement_group=self.group, placement_group_bundle_index=role.bundles[place]
            ),
        )
        return options.remote(*given, name=name, stacks=str(self.stacks), **more)

    def _model_on(self, gpus: float) -> dict[str, Any]:
        """What who holds a model is told of its devices."""
        return {"threads": self._threads(), "gpu": gpus > 0}

    def _threads(self) -> int:
        if self.needs.gpus:
            return GPU_THREADS
        cores = threads_for(self.config.threads)
        return max(1, cores // (len(self.needs.samplers) + len(self.needs.learners)))

    def dismiss(self) -> Freed:
        """Ends all actors and gives back what they held."""
        return free([*self.samplers, *self.learners, *self.environments], self.group)

    def note(self, places: list[Place]) -> None:
        """Where actors are, to look at them when they no longer answer."""
        self.places += places


def of_samplers(troupe: Troupe, method: str, *given: Any) -> list[Asked]:
    return [
        (f"sampler {place}", getattr(sampler, method).remote(*given)) for place, sampler in enumerate(troupe.samplers)
    ]


def of_learners(troupe: Troupe, method: str, *given: Any) -> list[Asked]:
    return [
        (f"learner {rank}", getattr(learner, method).remote(*given)) for rank, learner in enumerate(troupe.learners)
    ]


def of_environments(troupe: Troupe) -> list[Asked]:
    """Where each is: what one always answers at once, unless it is gone or all its threads are playing."""
    return [(f"environment actor {place}", actor.place.remote()) for place, actor in enumerate(troupe.environments)]
