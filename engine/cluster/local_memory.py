"""The memory of a run with the local backend, where one process samples and learns in turns with the same weights."""

from __future__ import annotations

from dataclasses import dataclass

from engine.cluster.byte_units import format_bytes, listed
from engine.cluster.learner_memory import LearnerMemory
from engine.cluster.memory import checkpoint_sentences, estimate
from engine.cluster.sampler_memory import SamplerMemory
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
        return max(self.learner.certain, self.learner.lasting + self.sampler.sequence)

    @property
    def sampling(self) -> int:
        return self.learner.lasting + self.sampler.cache + self.sampler.work

    @property
    def total(self) -> int:
        return max(self.learner.total, self.sampling)

    def sentences(self) -> list[str]:
        where = "of a GPU" if self.gpu else "of memory"
        return [
            f"The run needs at most about {format_bytes(self.total)} {where}"
            + (", in addition to PyTorch itself." if self.gpu else "."),
            f"Training takes up to {format_bytes(self.learner.total)}, with {self.tokens:,} tokens at once: "
            f"{listed(self.learner.parts())}.",
            f"Sampling takes up to {format_bytes(self.sampling)}: "
            f"{listed([('what training keeps', self.learner.lasting), ('work', self.sampler.work)])}, and "
            f"{format_bytes(self.sampler.cache)} for the cache of {self.rows:,} trajectories of {self.context:,} "
            "tokens.",
            *checkpoint_sentences(self.learner),
        ]


def estimate_local(config: RunConfig, shape: ModelShape, *, gpu: bool) -> LocalMemory:
    """What `config` needs with the local backend; `gpu`: whether the machine has one."""
    alone = config.model_copy(update={"cluster": ClusterConfig(sampler="torch", samplers=1, learners=1)})
    found = estimate(alone, shape, gpu=gpu)
    return LocalMemory(
        learner=found.learner,
        sampler=found.sampler,
        tokens=found.tokens,
        rows=found.rows,
        context=found.context,
        gpu=gpu,
    )
