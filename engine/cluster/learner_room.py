"""How much memory each learner of a cluster has, and so how many tokens go through the model at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine.cluster.memory import MemoryEstimate, estimate, held_beside
from engine.config import RunConfig
from engine.training.forward_size import ForwardSize, shape_if_open, size_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Free:
    """What one learner finds before it loads the model: `bytes` of its GPU, or of its machine's memory."""

    machine: str
    bytes: int
    gpu: bool


def fitting_cluster_size(
    config: RunConfig, found: Path | None, free: Sequence[Free], samplers: Sequence[str]
) -> ForwardSize | None:
    """The number for all learners: what fits the one with the least room. `samplers` are their machines."""
    shape, gpu = shape_if_open(config), free[0].gpu
    if shape is None:
        return None
    plan = partial(estimate, shape=shape, gpu=gpu)
    memory = plan(config)
    room = max(0, least_room(free, samplers, memory) - held_beside(config, memory))
    return size_for(config, found, plan, room=room, gpu=gpu)


def least_room(free: Sequence[Free], samplers: Sequence[str], memory: MemoryEstimate) -> int:
    """A GPU is one learner's, but for a sampler on it (`held_beside`). A machine's memory is shared by all its
    samplers, which get what they need first, by its learners, and by the first learner's copy of the weights."""
    if free[0].gpu:
        return min(one.bytes for one in free)
    learners, sampling = Counter(one.machine for one in free), Counter(samplers)

    def room(one: Free) -> int:
        copy = memory.learner.host if one.machine == free[0].machine else 0
        left = one.bytes - sampling[one.machine] * memory.sampler.total - copy
        return max(0, left // learners[one.machine])

    return min(map(room, free))
