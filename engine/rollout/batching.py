"""Trajectories to padded tensors. Column t is about token t: its mask, the log-probability it was sampled with.

A row is a trajectory under every context, so whoever counts rows counts trajectories: groups, filters, statistics,
mini-batches, turn credit along a row. A window's contexts lie one after the other in the row; only who runs the model
takes them apart again (`engine.training.token_values`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.rollout.types import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """B trajectories, right-padded to T tokens. `mask` is 1 on sampled tokens and on nothing else.

    `contexts` numbers the contexts of a row: a token was sampled after the tokens of the same number before it, and
    after no others. Under the full context all are 0. Between two replies there is always an unsampled token.
    """

    ids: Tensor  # (B, T) int64
    mask: Tensor  # (B, T) float32
    logprobs: Tensor  # (B, T) float32, the sampler's
    contexts: Tensor  # (B, T) int64, from 0 in each row; -1 on padding
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
            contexts=self.contexts[index, :longest],
            lengths=self.lengths[index],
            scores=self.scores[index],
            returns=self.returns[index],
            groups=self.groups[index],
        )


def trainable(trajectories: list[Trajectory]) -> list[int]:
    """Places of the trajectories that have an outcome to learn from.

    Left out are those that ended by a fault of their environment, whose score nobody knows; those without a sampled
    token; and a member that this leaves alone in its group, since there is nothing left to compare it with.
    """
    sound = [trajectory.has_outcome and trajectory.reply_tokens > 0 for trajectory in trajectories]
    members = Counter(trajectory.group for trajectory in trajectories)
    left = Counter(trajectory.group for trajectory, good in zip(trajectories, sound, strict=True) if good)
    return [
        place
        for place, trajectory in enumerate(trajectories)
        if sound[place] and (left[trajectory.group] > 1 or members[trajectory.group] == 1)
    ]


def collate(trajectories: list[Trajectory]) -> Batch:
    longest = max((len(trajectory.ids) for trajectory in trajectories), default=0)
    shape = (len(trajectories), longest)
    ids, mask, logprobs = torch.zeros(shape, dtype=torch.long), torch.zeros(shape), torch.zeros(shape)
    contexts = torch.full(shape, -1)
    for row, trajectory in enumerate(trajectories):
        length = len(trajectory.ids)
        contexts[row, :length] = torch.tensor(trajectory.contexts(), dtype=torch.long)
        ids[row, :length] = torch.tensor(trajectory.ids, dtype=torch.long)
        mask[row, :length] = torch.tensor(trajectory.sampled, dtype=torch.float32)
        logprobs[row, :length] = torch.tensor(trajectory.logprobs)
    return Batch(
        ids=ids,
        mask=mask,
        logprobs=logprobs,
        contexts=contexts,
        lengths=torch.tensor([len(trajectory.ids) for trajectory in trajectories], dtype=torch.long),
        scores=torch.tensor([trajectory.score for trajectory in trajectories], dtype=torch.float32),
        returns=torch.tensor([trajectory.raw_return for trajectory in trajectories], dtype=torch.float32),
        groups=torch.tensor([trajectory.group for trajectory in trajectories], dtype=torch.long),
    )


def last_token_rewards(scores: Tensor, mask: Tensor) -> Tensor:
    """Each trajectory's score on its last sampled token, 0 elsewhere: `(B,), (B, T) -> (B, T)`."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    last = torch.where(mask.bool(), positions, -1).amax(dim=1)  # (B,), -1 where nothing was sampled
    rewards = torch.zeros_like(mask)
    has_any = last >= 0
    rewards[has_any.nonzero().squeeze(-1), last[has_any]] = scores[has_any]
    return rewards


def micro_batches(lengths: Tensor, *, max_tokens: int, padded: bool = True) -> list[Tensor]:
    """Rows grouped by similar length, each group at most `max_tokens` tokens (or a single row), padding counted.

    Not `padded`, groups are filled by the tokens that rows really have.
    """
    order = torch.argsort(lengths, descending=True, stable=True)
    groups: list[list[int]] = []
    tokens = 0
    for row in order.tolist():
        widest = max(1, int(lengths[groups[-1][0] if groups and padded else row]))
        if not groups or tokens + widest > max_tokens:
            groups.append([])
            widest, tokens = max(1, int(lengths[row])), 0
        groups[-1].append(row)
        tokens += widest
    return [torch.tensor(group) for group in groups]
