"""ReMax (arXiv 2310.10505): a trajectory's score minus that of the greedy episode of its problem.

The greedy episode passes through other states, so its turns have no counterpart in a trajectory's; its score is raw and
bears no KL cost. Credit by turn, normalized scores and KL in the reward are therefore not among its settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from engine.algorithms.preset import Preset
from engine.algorithms.variants.base import AlgorithmBase, Estimate

if TYPE_CHECKING:
    from torch import Tensor

    from engine.rollout.batching import Batch


class Remax(AlgorithmBase):
    """`score - score of the greedy episode` on every sampled token; costs one more episode per problem."""

    greedy_baseline: ClassVar[bool] = True

    type: Literal["remax"] = "remax"

    def assign(self, batch: Batch, values: Tensor | None) -> Estimate:
        from engine.algorithms.advantages import remax

        return Estimate(advantages=remax(batch.scores, batch.baselines, batch.mask))


PRESETS: dict[str, Preset] = {}
