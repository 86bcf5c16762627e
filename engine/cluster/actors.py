"""The actors of one run: created in the bundles of its placement group, named, replaced and released."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.cluster.connection import import_ray
from engine.cluster.environment_actors import EnvironmentActor
from engine.cluster.learner_actor import LearnerActor
from engine.cluster.placement import release
from engine.cluster.reporting import ReleaseReport
from engine.cluster.resources import Resources
from engine.cluster.sampler_actor import SamplerActor
from engine.config import RunConfig
from engine.cpu_threads import threads_for
from engine.process_snapshots import ActorLocation

GPU_THREADS = 4
CLOSE_SECONDS = 5.0  # for the environments of actors that are about to end
MEANS = frozenset({"system/gpu_share"})  # of the other GPU metrics the maximum: one full device ends the run
Call = tuple[str, Any]  # an actor's name, and the reference to the result


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A class of actors: the bundle of each, and how many calls each executes at a time."""

    kind: type
    name: str
    bundles: list[int]
    gpus: float = 0.0
    threads: int = 1


@dataclass(slots=True, kw_only=True)
class ActorPool:
    """The actors of each role, in order; `group` is their placement group and `transfer` how weights are sent."""

    config: RunConfig
    resources: Resources
    group: Any
    stacks: Path
    transfer: str
    samplers: list[Any] = field(default_factory=list)
    learners: list[Any] = field(default_factory=list)
    environments: list[Any] = field(default_factory=list)
    locations: list[ActorLocation] = field(default_factory=list)  # to take snapshots of actors that hang
    created: int = 0  # makes names unique: the name of a dead actor is not free at once

    def start(self) -> None:
        self.learners = [self._learner(rank) for rank in range(len(self.resources.learners))]
        self.samplers = [self.sampler(index) for index in range(len(self.resources.samplers))]
        self.environments = [self.environment(index) for index in range(len(self.resources.environments))]

    def sampler(self, index: int) -> Any:
        rows = -(-self.config.rollout.groups * self.config.rollout.group_size // len(self.resources.samplers))
        gpus = self.resources.sampler_gpus
        options = {"rows": rows, "transfer": "" if self.transfer == "object_store" else self.transfer}
        role = Role(kind=SamplerActor, name="sampler", bundles=self.resources.samplers, gpus=gpus)
        return self._create(role, index, self.config.model_dump_json(), **self._devices(gpus), **options)

    def environment(self, index: int) -> Any:
        """Each of its threads plays a different trajectory."""
        role = Role(
            kind=EnvironmentActor,
            name="environment",
            bundles=self.resources.environments,
            threads=max(1, self.config.rollout.environment_workers),
        )
        return self._create(role, index)

    def replace_sampler(self, index: int) -> Any:
        """Replaces a sampler that does not respond; it may be alive and hold its devices, so it is killed first."""
        import_ray().kill(self.samplers[index], no_restart=True)
        self.samplers[index] = self.sampler(index)
        return self.samplers[index]

    def replace_environment(self, index: int) -> Any:
        """Replaces an environment actor that does not respond."""
        import_ray().kill(self.environments[index], no_restart=True)
        self.environments[index] = self.environment(index)
        return self.environments[index]

    def release(self) -> ReleaseReport:
        """Ends all actors and releases their resources. Environments have a moment to be closed."""
        closing = [environment.close_all.remote() for environment in self.environments]
        if closing:
            import_ray().wait(closing, num_returns=len(closing), timeout=CLOSE_SECONDS)
        return release([*self.samplers, *self.learners, *self.environments], self.group)

    def _learner(self, rank: int) -> Any:
        gpus, size = self.resources.learner_gpus, len(self.resources.learners)
        role = Role(kind=LearnerActor, name="learner", bundles=self.resources.learners, gpus=gpus)
        return self._create(role, rank, self.config.model_dump_json(), rank, size, **self._devices(gpus))

    def _create(self, role: Role, index: int, *arguments: Any, **options: Any) -> Any:
        ray = import_ray()
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        self.created += 1
        name = f"{role.name}-{index}-{self.created}"
        actor = ray.remote(role.kind).options(
            name=name,
            num_cpus=1,
            num_gpus=role.gpus,
            max_restarts=0,
            max_concurrency=role.threads,
            scheduling_strategy=PlacementGroupSchedulingStrategy(
                placement_group=self.group, placement_group_bundle_index=role.bundles[index]
            ),
        )
        return actor.remote(*arguments, name=name, stacks=str(self.stacks), **options)

    def _devices(self, gpus: float) -> dict[str, Any]:
        """The device arguments of an actor that holds a model."""
        return {"threads": self._threads(), "gpu": gpus > 0}

    def _threads(self) -> int:
        if self.resources.gpus:
            return GPU_THREADS
        cores = threads_for(self.config.threads)
        return max(1, cores // (len(self.resources.samplers) + len(self.resources.learners)))


def sampler_calls(pool: ActorPool, method: str, *arguments: Any) -> list[Call]:
    return [
        (f"sampler {index}", getattr(sampler, method).remote(*arguments)) for index, sampler in enumerate(pool.samplers)
    ]


def learner_calls(pool: ActorPool, method: str, *arguments: Any, **options: Any) -> list[Call]:
    return [
        (f"learner {rank}", getattr(learner, method).remote(*arguments, **options))
        for rank, learner in enumerate(pool.learners)
    ]


def environment_calls(pool: ActorPool) -> list[Call]:
    """Asks each for its location, which an environment actor returns at once unless it died or all its threads are
    busy."""
    return [(f"environment actor {index}", actor.location.remote()) for index, actor in enumerate(pool.environments)]


def gpu_metrics_by_role(role: str, actors: Sequence[dict[str, float]]) -> dict[str, float]:
    """`system/gpu_share/learner` and so on over the actors of a role, `system/gpu_share/device/learner_0` of each."""
    names = sorted({name for metrics in actors for name in metrics})
    values = {name: [metrics[name] for metrics in actors if name in metrics] for name in names}
    over_role = {f"{name}/{role}": statistics.fmean(of) if name in MEANS else max(of) for name, of in values.items()}
    of_each = {
        f"{name}/device/{role}_{index}": value
        for index, metrics in enumerate(actors)
        for name, value in metrics.items()
    }
    return over_role | of_each
