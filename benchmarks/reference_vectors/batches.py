"""Random batches that libraries are asked about: ragged masks with turns, a row without a sampled token, a group of
one, a group of equal scores."""

from __future__ import annotations

import torch
from torch import Tensor

SEED = 20504
ROWS, WIDTH = 7, 12
GROUPS = [0, 0, 0, 1, 1, 2, 0]  # group 1 has equal scores, group 2 is of one, the last row has no sampled token


def inputs(generator: torch.Generator, *, zero: bool) -> dict[str, Tensor]:
    """A batch; with `zero` every reward is 0."""
    mask = torch.zeros(ROWS, WIDTH)
    for row in range(ROWS - 1):
        start = int(torch.randint(0, 2, (), generator=generator))
        for turn in range(3):
            length = int(torch.randint(1, 4, (), generator=generator))
            mask[row, start : start + length] = 1.0
            start += length + 1 + turn % 2
    rewards = torch.zeros(ROWS, WIDTH)
    for row in range(ROWS - 1):
        last = int(mask[row].nonzero().max())
        rewards[row, last] = 0.0 if zero else float(torch.randn((), generator=generator))
    for row in (3, 4):
        last = int(mask[row].nonzero().max())
        rewards[row, last] = 0.0 if zero else 0.3
    shape = (ROWS, WIDTH)
    drawn = {
        name: torch.randn(shape, generator=generator)
        for name in ("values", "old_values", "targets", "logprobs", "old_logprobs", "ref_logprobs", "advantages")
    }
    baselines = torch.randn(ROWS, generator=generator)
    return {"mask": mask, "rewards": rewards, "baselines": baselines, **drawn}
