"""EnvStateManager: the layout of a batch in groups and members, and its seeds. Episodes are played by `episode`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from engine.config import TRAINING_SEED_LIMIT, EnvironmentConfig, RunConfig, group_shares
from engine.environments.base import Split


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSpec:
    """One episode to play: which environment, which problem (`seed`), and the seed of its random outcomes
    (`chance_seed`)."""

    environment: EnvironmentConfig
    group: int
    member: int
    seed: int
    chance_seed: int
    split: Split = "train"

    def chance_seed_of(self, seed: int) -> int:
        """The seed of chance when the problem of another seed is played, as the spec's own is not of its split."""
        return self.chance_seed if seed == self.seed else chance_seed(seed, self.member)


def chance_seed(seed: int, member: int) -> int:
    """Seeds a member's random outcomes: different between the members of a group, the same when replayed, and below
    2^32, which some libraries need."""
    return (seed * 1009 + member + 1) % 2**32


class EnvStateManager:
    """Lays out a batch: which problems, how many members each, with which seeds. Groups are in order of environment."""

    def __init__(
        self, environments: list[EnvironmentConfig], *, groups: int, group_size: int, seed: int, refills: int = 0
    ) -> None:
        self.environments = environments
        self.groups = groups
        self.group_size = group_size
        self.seed = seed
        self.refills = refills  # how often a step may draw more problems, from the run's seeds

    @classmethod
    def of(cls, config: RunConfig) -> EnvStateManager:
        """That of a run."""
        rollout = config.rollout
        return cls(
            config.environments,
            groups=rollout.groups,
            group_size=rollout.group_size,
            seed=config.seed,
            refills=rollout.refill,
        )

    def training_batch(self, step: int) -> list[EpisodeSpec]:
        """Groups x members of step `step` (from 1). Problem seeds never repeat within a run and stay below 10^9."""
        return self.refill_batch(step, draw=0, indices=range(self.groups))

    def refill_batch(self, step: int, *, draw: int, indices: Sequence[int]) -> list[EpisodeSpec]:
        """Fresh problems for the groups at `indices` (from 0) of the step's layout, the same environment for each.

        `draw` is from 1 to `refills`; its group numbers continue those of the previous draw.
        """
        drawn = (step - 1) * (1 + self.refills) + draw
        first = (self.seed * 7_919_017 + drawn * self.groups) % TRAINING_SEED_LIMIT
        shares = group_shares(self.environments, self.groups)
        owners = [
            environment for environment, share in zip(self.environments, shares, strict=True) for _ in range(share)
        ]
        return [
            self._spec(owners[index], draw * self.groups + index, member, (first + index) % TRAINING_SEED_LIMIT)
            for index in indices
            for member in range(self.group_size)
        ]

    def held_out_batch(self, environment: EnvironmentConfig, *, first_seed: int, episodes: int) -> list[EpisodeSpec]:
        return self.batch_of_seeds(environment, range(first_seed, first_seed + episodes))

    def batch_of_seeds(
        self, environment: EnvironmentConfig, seeds: Sequence[int], *, sample: int = 0
    ) -> list[EpisodeSpec]:
        """One held-out episode for each of `seeds`; another `sample` has the same problems with other chance seeds."""
        return [self._spec(environment, index, sample, seed, "held_out") for index, seed in enumerate(seeds)]

    def _spec(
        self, environment: EnvironmentConfig, group: int, member: int, seed: int, split: Split = "train"
    ) -> EpisodeSpec:
        return EpisodeSpec(
            environment=environment,
            group=group,
            member=member,
            seed=seed,
            chance_seed=chance_seed(seed, member),
            split=split,
        )


def partition_by_group(specs: Sequence[EpisodeSpec], count: int) -> list[list[EpisodeSpec]]:
    """`specs` in order in at most `count` partitions of whole groups, which differ in size by at most one group; none
    is empty.

    Groups stay whole because their members share a prompt, which the sampler caches.
    """
    groups = [list(members) for _, members in groupby(specs, key=lambda spec: spec.group)]
    parts = min(count, len(groups))
    bounds = [index * len(groups) // parts for index in range(parts + 1)]
    return [[spec for group in groups[begin:end] for spec in group] for begin, end in pairwise(bounds)]
