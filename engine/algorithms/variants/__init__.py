"""All algorithms, one file each: `Algorithm` is their union, discriminated by `type`. A new one adds its class here."""

from __future__ import annotations

from typing import Annotated, cast

from pydantic import Field

from engine.algorithms.variants import (
    bi_level_gae,
    dr_grpo,
    grpo,
    ppo,
    reinforce_plus_plus,
    reinforce_plus_plus_baseline,
    remax,
    rloo,
)
from engine.algorithms.variants.base import AlgorithmBase
from engine.section import union_variants

Algorithm = Annotated[
    grpo.Grpo
    | dr_grpo.DrGrpo
    | rloo.Rloo
    | reinforce_plus_plus.ReinforcePlusPlus
    | reinforce_plus_plus_baseline.ReinforcePlusPlusBaseline
    | remax.Remax
    | ppo.Ppo
    | bi_level_gae.BiLevelGae,
    Field(discriminator="type"),
]
ALGORITHMS = cast("dict[str, type[AlgorithmBase]]", union_variants(Algorithm))
PRESETS = {
    **ppo.PRESETS,
    **grpo.PRESETS,
    **dr_grpo.PRESETS,
    **rloo.PRESETS,
    **reinforce_plus_plus.PRESETS,
}
