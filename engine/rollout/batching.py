"""Trajectories to padded tensors. Column t is about token t: its mask, the log-probability it was sampled with.

A row is always one trajectory, under every context window: groups, filters, statistics, mini-batches and turn credit
count rows. The contexts of a window are concatenated in the row; they are split again only where the model runs
(`engine.training.token_values`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.rollout.types import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """B trajectories, right-padded to T tokens. `mask` is 1 on the tokens that are trained on, 0 elsewhere.

    They are the sampled ones except for masked parts of responses; the last token of a response is never masked.
    `contexts` numbers the contexts of a row: a token was sampled after the preceding tokens with the same number, and
    no others. Under the full context all are 0. Between two responses there is always an unsampled token.
    """

    ids: Tensor  # (B, T) int64
    mask: Tensor  # (B, T) float32
    sampled: Tensor  # (B, T) float32: 1 on sampled tokens, masked ones included
    logprobs: Tensor  # (B, T) float32, of the policy before its update
    sampler_logprobs: Tensor  # (B, T) float32, of the sampler; equal to `logprobs` unless rescored
    contexts: Tensor  # (B, T) int64, from 0 in each row; -1 on padding
    lengths: Tensor  # (B,) int64
    scores: Tensor  # (B,) float32: return plus penalties
    returns: Tensor  # (B,) float32: raw
    rewards: Tensor  # (B, T) float32: each turn's reward plus penalty on its last sampled token, 0 elsewhere
    entropies: Tensor  # (B,) float32: mean over the tokens that are trained on, in nats
    baselines: Tensor  # (B,) float32: score of the greedy episode of its problem, 0 where none was played
    groups: Tensor  # (B,) int64
    tags: Tensor  # (B,) int64: which environment, numbered in order of appearance
    rescored: bool = False  # whether the learner computed `logprobs`, since another program sampled

    def __len__(self) -> int:
        return len(self.lengths)

    def context_sizes(self) -> tuple[Tensor, Tensor]:
        """For each row, both `(B,)` int64: the tokens of its longest context, and how many contexts it has."""
        counts = self.contexts.amax(dim=1) + 1 if self.ids.numel() else torch.zeros_like(self.lengths)
        tallies = self.lengths.new_zeros((len(self), int(counts.max()) if len(self) else 0))  # (B, contexts)
        tallies.scatter_add_(1, self.contexts.clamp(min=0), (self.contexts >= 0).long())
        longest = tallies.amax(dim=1) if tallies.numel() else torch.zeros_like(self.lengths)
        return longest, counts

    def micro_batches(self, rows: Tensor, *, max_tokens: int, padded: bool = True) -> list[Tensor]:
        """`rows` in parts of at most `max_tokens` tokens, with each context as a separate row.

        Padding counts, unless sequences are packed instead of `padded`.
        """
        if not padded:
            return [rows[part] for part in packs(self.lengths[rows], max_tokens=max_tokens)]
        longest, counts = self.context_sizes()
        parts = micro_batches(longest[rows], counts=counts[rows], max_tokens=max_tokens)
        return [rows[part] for part in parts]

    def rows(self, index: Tensor) -> Batch:
        """The chosen rows, cut to their longest."""
        longest = int(self.lengths[index].max()) if len(index) else 0
        return Batch(
            ids=self.ids[index, :longest],
            mask=self.mask[index, :longest],
            sampled=self.sampled[index, :longest],
            logprobs=self.logprobs[index, :longest],
            sampler_logprobs=self.sampler_logprobs[index, :longest],
            contexts=self.contexts[index, :longest],
            lengths=self.lengths[index],
            scores=self.scores[index],
            returns=self.returns[index],
            rewards=self.rewards[index, :longest],
            entropies=self.entropies[index],
            baselines=self.baselines[index],
            groups=self.groups[index],
            tags=self.tags[index],
            rescored=self.rescored,
        )


def trainable(trajectories: list[Trajectory]) -> list[int]:
    """Indices of the trajectories that have an outcome to learn from.

    Left out are those that ended by a fault of their environment, whose score is unknown; those without a sampled
    token; and a member that is then alone in its group, since there is nothing to compare it with.
    """
    usable = [trajectory.has_outcome and trajectory.response_tokens > 0 for trajectory in trajectories]
    members = Counter(trajectory.group for trajectory in trajectories)
    left = Counter(trajectory.group for trajectory, good in zip(trajectories, usable, strict=True) if good)
    return [
        index
        for index, trajectory in enumerate(trajectories)
        if usable[index] and (left[trajectory.group] > 1 or members[trajectory.group] == 1)
    ]


def collate(trajectories: list[Trajectory], *, baselines: dict[int, float] | None = None) -> Batch:
    """`baselines` are by group."""
    greedy = baselines or {}
    longest = max((len(trajectory.ids) for trajectory in trajectories), default=0)
    shape = (len(trajectories), longest)
    ids, mask, sampled = torch.zeros(shape, dtype=torch.long), torch.zeros(shape), torch.zeros(shape)
    logprobs, sampler_logprobs = torch.zeros(shape), torch.zeros(shape)
    contexts, rewards = torch.full(shape, -1), torch.zeros(shape)
    tags = list(dict.fromkeys(trajectory.environment for trajectory in trajectories))
    for row, trajectory in enumerate(trajectories):
        length = len(trajectory.ids)
        contexts[row, :length] = torch.tensor(trajectory.contexts(), dtype=torch.long)
        ids[row, :length] = torch.tensor(trajectory.ids, dtype=torch.long)
        mask[row, :length] = torch.tensor(trajectory.trained, dtype=torch.float32)
        sampled[row, :length] = torch.tensor(trajectory.sampled, dtype=torch.float32)
        sampler_logprobs[row, :length] = torch.tensor(trajectory.logprobs)
        known = trajectory.learner_logprobs
        logprobs[row, :length] = torch.tensor(trajectory.logprobs if known is None else known)
        rewards[row, :length] = torch.tensor(_turn_rewards(trajectory))
    return Batch(
        ids=ids,
        mask=mask,
        sampled=sampled,
        logprobs=logprobs,
        sampler_logprobs=sampler_logprobs,
        contexts=contexts,
        lengths=torch.tensor([len(trajectory.ids) for trajectory in trajectories], dtype=torch.long),
        scores=torch.tensor([trajectory.score for trajectory in trajectories], dtype=torch.float32),
        returns=torch.tensor([trajectory.raw_return for trajectory in trajectories], dtype=torch.float32),
        rewards=rewards,
        entropies=torch.tensor([_mean_entropy(trajectory) for trajectory in trajectories], dtype=torch.float32),
        baselines=torch.tensor([greedy.get(trajectory.group, 0.0) for trajectory in trajectories], dtype=torch.float32),
        groups=torch.tensor([trajectory.group for trajectory in trajectories], dtype=torch.long),
        tags=torch.tensor([tags.index(trajectory.environment) for trajectory in trajectories], dtype=torch.long),
        rescored=any(trajectory.learner_logprobs is not None for trajectory in trajectories),
    )


def _turn_rewards(trajectory: Trajectory) -> list[float]:
    """Rewards plus penalties by token; those of a turn without a sampled token go to the last sampled token before
    it."""
    rewards, waiting, last = [0.0] * len(trajectory.ids), 0.0, -1
    for turn in trajectory.turns:
        last = turn.response_end - 1 if turn.response_end > turn.response_start else last
        waiting += turn.reward + turn.penalty
        if last >= 0:
            rewards[last] += waiting
            waiting = 0.0
    return rewards


def _mean_entropy(trajectory: Trajectory) -> float:
    return trajectory.trained_entropy / max(1, trajectory.trained_tokens)


def last_token_rewards(scores: Tensor, mask: Tensor) -> Tensor:
    """Each trajectory's score on its last sampled token, 0 elsewhere: `(B,), (B, T) -> (B, T)`."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    last = torch.where(mask.bool(), positions, -1).amax(dim=1)  # (B,), -1 where nothing was sampled
    rewards = torch.zeros_like(mask)
    has_any = last >= 0
    rewards[has_any.nonzero().squeeze(-1), last[has_any]] = scores[has_any]
    return rewards


def turn_ends(sampled: Tensor) -> Tensor:
    """`(B, T)`, 1 on the last sampled token of each response, which is not directly followed by a sampled token."""
    ends = sampled.clone()
    ends[:, :-1] *= 1 - sampled[:, 1:]
    return ends


def turn_numbers(sampled: Tensor) -> Tensor:
    """`(B, T)` int64: on each sampled token the number of its response in the row, from 0; -1 where none was
    sampled."""
    before = turn_ends(sampled).cumsum(dim=1) - turn_ends(sampled)
    return torch.where(sampled > 0, before, -1.0).long()


def micro_batches(lengths: Tensor, *, max_tokens: int, counts: Tensor | None = None) -> list[Tensor]:
    """Rows grouped by similar length, each group at most `max_tokens` padded tokens (or a single row).

    With `counts` (B,) a row has that many sequences, the longest of its length.
    """
    order = torch.argsort(lengths, descending=True, stable=True)
    sequences = (torch.ones_like(lengths) if counts is None else counts)[order]
    groups: list[Tensor] = []
    start = 0
    while start < len(order):
        widest = max(1, int(lengths[order[start]]))
        fitting = sequences[start:].cumsum(0) <= max_tokens // widest
        size = max(1, int(fitting.sum()))
        groups.append(order[start : start + size])
        start += size
    return groups


def packs(lengths: Tensor, *, max_tokens: int) -> list[Tensor]:
    """Rows grouped by similar length, each group of at most `max_tokens` real tokens (or a single row)."""
    groups: list[list[int]] = []
    tokens = 0
    for row in torch.argsort(lengths, descending=True, stable=True).tolist():
        length = int(lengths[row])
        if not groups or tokens + length > max_tokens:
            groups.append([])
            tokens = 0
        groups[-1].append(row)
        tokens += length
    return [torch.tensor(group) for group in groups]
