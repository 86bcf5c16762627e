"""What a step has to do: the numbers that its time is a function of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Of all processes together. `tokens` are those of whole trajectories, `sampled` of responses, `prompted` of first
    prompts; members of a group share theirs, and a sampler reads it once."""

    trajectories: int
    group_size: int
    turns: float  # that were played, of all trajectories
    tokens: float
    sampled: float
    prompted: float
    passes: float  # tokens that the longest trajectory was given one after the other
    parts: int  # micro-batches
    samplers: int
    learners: int

    @property
    def length(self) -> float:
        """Mean tokens of a trajectory."""
        return self.tokens / self.trajectories

    @property
    def read(self) -> float:
        """Tokens that go through the samplers' model."""
        return self.tokens - self.prompted * (1 - 1 / self.group_size)

    @property
    def sampler_share(self) -> float:
        """Of the sampler that has most: whole groups go to one."""
        groups = -(-self.trajectories // self.group_size)
        return -(-groups // self.samplers) / groups

    @property
    def rounds(self) -> int:
        """Micro-batches of each learner; who has fewer repeats one that counts nothing."""
        return -(-self.parts // self.learners)

    @property
    def learner_share(self) -> float:
        return self.rounds / self.parts
