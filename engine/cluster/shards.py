"""Which sampler plays what: whole groups, so that members share the prompt that a sampler has in its cache."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from engine.rollout.env_state_manager import EpisodeSpec


def shards_of(specs: Sequence[EpisodeSpec], count: int) -> list[list[EpisodeSpec]]:
    """`specs` in order in at most `count` parts that differ by at most one group; none is empty."""
    groups = [list(members) for _, members in groupby(specs, key=lambda spec: spec.group)]
    parts = min(count, len(groups))
    borders = [place * len(groups) // parts for place in range(parts + 1)]
    return [[spec for group in groups[begin:end] for spec in group] for begin, end in pairwise(borders)]
