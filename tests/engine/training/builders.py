"""Batches of made-up tokens in rows of very different length, and learners on the very small model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engine.config import RunConfig, build_config
from engine.rollout.batching import Batch, last_token_rewards
from engine.training.learner import Learner
from tests.engine.models import small_model

LENGTHS = (6, 40, 11, 3, 25, 18)
UNCLIPPED = 1e6  # a gradient norm that nothing reaches


def made_up_batch(lengths: tuple[int, ...] = LENGTHS, *, contexts: int = 1, seed: int = 0) -> Batch:
    """Rows whose tokens are sampled in runs, the first of each of their `contexts` and every fifth left out."""
    draw = torch.Generator().manual_seed(seed)
    shape = (len(lengths), max(lengths))
    real = torch.arange(shape[1]) < torch.tensor(lengths)[:, None]
    positions = torch.arange(shape[1]).expand(shape)
    starts = torch.tensor(lengths)[:, None].div(contexts, rounding_mode="floor").clamp(min=1)
    numbers = positions.div(starts, rounding_mode="floor").clamp(max=contexts - 1)
    first = torch.cat([torch.full((shape[0], 1), -1), numbers[:, :-1]], dim=1) != numbers
    mask = (real & ~first & (positions % 5 != 4)).float()
    scores = torch.randn(shape[0], generator=draw)
    ids = torch.randint(10, 200, shape, generator=draw) * real
    logprobs = -(4 + torch.rand(shape, generator=draw)) * mask
    return Batch(
        ids=ids,
        mask=mask,
        sampled=mask,
        logprobs=logprobs,
        sampler_logprobs=logprobs,
        contexts=torch.where(real, numbers, -1),
        lengths=torch.tensor(lengths),
        scores=scores,
        returns=torch.randn(shape[0], generator=draw),
        rewards=last_token_rewards(scores, mask),
        entropies=torch.zeros(shape[0]),
        baselines=torch.zeros(shape[0]),
        tags=torch.zeros(shape[0], dtype=torch.long),
        groups=torch.arange(shape[0]) // 2,
    )


def advantages_of(batch: Batch) -> Tensor:
    return batch.scores[:, None] * batch.mask


def learner_config(**sections: Any) -> RunConfig:
    """One update of the whole batch, not clipped."""
    optimizer = {"updates_per_step": 1, "max_grad_norm": UNCLIPPED, **sections.pop("optimizer", {})}
    return build_config({"optimizer": optimizer, **sections})


def update(learner: Learner, batch: Batch) -> dict[str, float]:
    """One step of the learner; a critic learns the scores."""
    shuffle = torch.Generator().manual_seed(0)
    values = learner.values(batch) if learner.critic is not None else None
    returns = advantages_of(batch) if values is not None else None
    return learner.update(batch, advantages_of(batch), step=1, shuffle=shuffle, values=values, returns=returns)


def gradients(optimizer: torch.optim.AdamW) -> list[Tensor]:
    """Gradients of the first step: AdamW's first moment is then a tenth of them."""
    return [optimizer.state[weight]["exp_avg"] * 10 for group in optimizer.param_groups for weight in group["params"]]


def updated(batch: Batch, *, seed: int = 0, **sections: Any) -> Learner:
    learner = Learner(small_model(seed), learner_config(**sections))
    update(learner, batch)
    return learner


def assert_same(ones: list[Tensor], others: list[Tensor], *, tolerance: float = 1e-6) -> None:
    """Within `tolerance` of the largest number of all."""
    scale = max(float(one.abs().max()) for one in ones)
    assert scale > 0
    for one, other in zip(ones, others, strict=True):
        torch.testing.assert_close(one, other, atol=tolerance * max(1.0, scale), rtol=1e-4)
