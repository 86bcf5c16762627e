"""The parts of one rollout, as the samplers that played them return them."""

from __future__ import annotations

from collections.abc import Sequence

from engine.cluster.connection import ClusterFault
from engine.errors import StarboardError
from engine.rollout.types import Trajectory

Partition = tuple[list[Trajectory], int, StarboardError | None]  # with sampled tokens, and why there is no trajectory


def join_partitions(found: Sequence[Partition], *, lost: int) -> tuple[list[Trajectory], int]:
    """All trajectories, and the number of sampled tokens. `lost` environment actors died during the rollout. Raises
    the first refusal if no partition has a trajectory."""
    refusals = [refusal for _, _, refusal in found if refusal is not None]
    if len(refusals) == len(found):
        if lost:
            raise ClusterFault(
                f"No trajectory of a rollout is left: {lost} environment actors died during it. {refusals[0]}"
            )
        raise refusals[0]
    trajectories = [trajectory for played, _, _ in found for trajectory in played]
    return trajectories, sum(sampled for _, sampled, _ in found)
