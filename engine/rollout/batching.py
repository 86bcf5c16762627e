"""Trajectories to padded tensors. Column t is about token t: its mask, the log-probability it was sampled with."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.rollout.types import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """B trajectories, right-padded to T tokens. `mask` is 1 on sampled tokens and on nothing else."""

    ids: Tensor  # (B, T) int64
    mask: Tensor  # (B, T) float32
    logprobs: Tensor  # (B, T) float32, the sampler's
    lengths: Tensor  # (B,) int64
    scores: Tensor  # (B,) float32: return plus penalties
    returns: Tensor  # (B,) float32: raw
    groups: Tensor  # (B,) int64

    def __len__(self) -> int:
        return len(self.lengths)

    def rows(self, index: Tensor) -> Batch:
        """The chosen rows, cut to their longest."""
        longest = int(self.lengths[index].max()) if len(index) else 0
        return Batch(
            ids=self.ids[index, :longest],
            mask=self.mask[index, :longest],
            logprobs=self.logprobs[index, :longest],
            lengths=self.lengths[index],
            scores=self.scores[index],
            returns=self.returns[index],
            groups=self.groups[index],
        )


def collate(trajectories: list[Trajectory]) -> Batch:
    longest = max(len(trajectory.ids) for trajectory in trajectories)
    shape = (len(trajectories), longest)
    ids, mask, logprobs = torch.zeros(shape, dtype=torch.long), torch.zeros(shape), torch.zeros(shape)
    for row, trajectory in enumerate(trajectories):
        length = len(trajectory.ids)
        ids[row, :length] = torch.tensor(trajectory.ids)
        mask[row, :length] = torch.tensor(trajectory.sampled, dtype=torch.float32)
        logprobs[row, :length] = torch.tensor(trajectory.logprobs)
    return Batch(
        ids=ids,
        mask=mask,
        logprobs=logprobs,
        lengths=torch.tensor([len(trajectory.ids) for trajectory in trajectories]),
        scores=torch.tensor([trajectory.score for trajectory in trajectories]),
        returns=torch.tensor([trajectory.raw_return for trajectory in trajectories]),
        groups=torch.tensor([trajectory.group for trajectory in trajectories]),
    )


def last_token_rewards(scores: Tensor, mask: Tensor) -> Tensor:
    """Each trajectory's score on its last sampled token, 0 elsewhere: `(B,), (B, T) -> (B, T)`."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    last = torch.where(mask.bool(), positions, -1).amax(dim=1)  # (B,), -1 where nothing was sampled
    rewards = torch.zeros_like(mask)
    has_any = last >= 0
    rewards[has_any.nonzero().squeeze(-1), last[has_any]] = scores[has_any]
    return rewards


def micro_batches(lengths: Tensor, *, max_tokens: int) -> list[Tensor]:
    """Rows grouped by similar length, each group at most `max_tokens` padded tokens (or a single row)."""
    order = torch.argsort(lengths, descending=True, stable=True)
    groups: list[Tensor] = []
    start = 0
    while start < len(order):
        widest = max(1, int(lengths[order[start]]))
        size = max(1, max_tokens // widest)
        groups.append(order[start : start + size])
        start += size
    return groups
