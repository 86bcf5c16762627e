"""The memory of a run with the local backend, where one process samples and learns in turns with the same weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.cluster.byte_units import format_bytes, listed
from engine.cluster.learner_memory import LearnerMemory
from engine.cluster.memory import checkpoint_sentences, estimate
from engine.cluster.sampler_memory import ROUNDED, SamplerMemory
from engine.config import RunConfig
from engine.config.cluster import ClusterConfig
from engine.policies.model_shape import ModelShape


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalMemory:
    """Bytes on the process's device, but `learner.host`. `rows` trajectories of `context` tokens are sampled at once,
    and `tokens` are trained on at once."""

    learner: LearnerMemory
    sampler: SamplerMemory
    tokens: int
    rows: int
    context: int
    gpu: bool

    @property
    def certain(self) -> int:
        """The least that works: with one row, and micro-batches however small."""
        return max(self.learner.certain, self.learner.lasting + self.sampler.rounded + self.sampler.sequence)

    @property
    def sampling(self) -> int:
        return self.learner.lasting + self.sampler.rounded + self.sampler.cache + self.sampler.work

    @property
    def total(self) -> int:
        return max(self.learner.total, self.sampling)

    def _beside_the_cache(self) -> list[tuple[str, int]]:
        sampler = self.sampler
        named = [("what training keeps", self.learner.lasting), (ROUNDED, sampler.rounded), ("work", sampler.work)]
        return [(name, size) for name, size in named if size]

    def sentences(self) -> list[str]:
        where = "of a GPU" if self.gpu else "of memory"
        return [
            f"The run needs at most about {format_bytes(self.total)} {where}"
            + (", in addition to PyTorch itself." if self.gpu else "."),
            f"Training takes up to {format_bytes(self.learner.total)}, with {self.tokens:,} tokens at once: "
            f"{listed(self.learner.parts())}.",
            f"Sampling takes up to {format_bytes(self.sampling)}: "
            f"{listed(self._beside_the_cache())}, and {format_bytes(self.sampler.cache)} for the cache of "
            f"{self.rows:,} trajectories of {self.context:,} tokens.",
            *checkpoint_sentences(self.learner),
        ]


def estimate_local(config: RunConfig, shape: ModelShape, *, gpu: bool) -> LocalMemory:
    """What `config` needs with the local backend; `gpu`: whether the machine has one."""
    alone = config.model_copy(update={"cluster": ClusterConfig(sampler="torch", samplers=1, learners=1)})
    found = estimate(alone, shape, gpu=gpu)
    sampler = found.sampler
    if config.model.lora.rank:
        sampler = replace(sampler, rounded=0)  # what is frozen is kept rounded
    return LocalMemory(
        learner=found.learner,
        sampler=sampler,
        tokens=found.tokens,
        rows=found.rows,
        context=found.context,
        gpu=gpu,
    )
