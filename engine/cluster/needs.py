"""What a run asks of a cluster: bundles of processors and GPUs, ganged or not given at all. No Ray here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.config import ClusterConfig

Bundle = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Each role's are places in `bundles`; those of samplers and learners are the same when colocated."""

    bundles: list[Bundle]
    samplers: list[int]
    learners: list[int]
    environments: list[int]
    sampler_gpus: float
    learner_gpus: float

    @property
    def cpus(self) -> int:
        return round(sum(bundle.get("CPU", 0) for bundle in self.bundles))

    @property
    def gpus(self) -> int:
        return round(sum(bundle.get("GPU", 0) for bundle in self.bundles))

    def in_words(self, free: Bundle, total: Bundle) -> str:
        """What is lacking: `needs 4 GPUs, 2 free of 8`."""
        parts = []
        for name, wanted in (("GPU", self.gpus), ("CPU", self.cpus)):
            have = int(free.get(name, 0))
            if wanted > have:
                plural = "s" if wanted != 1 else ""
                parts.append(f"needs {wanted} {name}{plural}, {have} free of {int(total.get(name, 0))}")
        return "; ".join(parts) or f"needs {len(self.bundles)} bundles together, and what is free lies apart"


def needs_of(config: ClusterConfig, *, gpus: bool) -> Needs:
    """One bundle a sampler and a learner; colocated each pair of them shares one and its GPU. Environment actors have a
    processor each, and never a GPU."""
    stages: list[Bundle] = [{"CPU": 1} for _ in range(config.environment_actors)]
    unit: Bundle = {"CPU": 1, "GPU": 1} if gpus else {"CPU": 1}
    if config.placement == "colocated":
        shared: Bundle = {**unit, "CPU": 2}
        places = list(range(config.learners))
        half = 0.5 if gpus else 0.0
        return Needs(
            bundles=[dict(shared) for _ in places] + stages,
            samplers=places,
            learners=places,
            environments=_after(places, stages),
            sampler_gpus=half,
            learner_gpus=half,
        )
    wide: Bundle = {"CPU": 1, "GPU": config.tensor_parallel} if gpus else {"CPU": 1}
    models = range(config.samplers + config.learners)
    return Needs(
        bundles=[dict(wide if place < config.samplers else unit) for place in models] + stages,
        samplers=list(models[: config.samplers]),
        learners=list(models[config.samplers :]),
        environments=_after(models, stages),
        sampler_gpus=config.tensor_parallel if gpus else 0.0,
        learner_gpus=1.0 if gpus else 0.0,
    )


def _after(places: Sequence[int], more: Sequence[Bundle]) -> list[int]:
    return list(range(len(places), len(places) + len(more)))
