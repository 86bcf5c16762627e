"""Advantage estimators as plain functions. Shapes: `(B, T)` float32 tokens, `(B,)` trajectories.

`mask` is 1 on sampled tokens. Environment tokens between turns carry no action: estimators skip them, and ignore a
reward that lies on one. Where a reward belongs, and which estimator runs, is decided by the caller.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

EPSILON = 1e-6


def gae(rewards: Tensor, values: Tensor, mask: Tensor, *, gamma: float | Tensor, lam: float) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimation (arXiv 1506.02438, eq. 16) over the sampled tokens of each row.

    `delta_t = r_t + gamma * V(next sampled token) - V_t`, `A_t = delta_t + gamma * lam * A_next`; the value after the
    last token is 0. On unsampled tokens the running value and advantage are carried unchanged: those columns hold the
    next sampled token's advantage and are not used. Returns `(advantages, returns)`, both `(B, T)`; not whitened.

    `gamma` is one discount, or `(B, T)` the discount from each sampled token to the next (`step_discounts`).
    With gamma = lam = 1 the advantage is the reward still to come minus the value. A row without a sampled token has
    advantage 0 throughout.
    """
    following_value = torch.zeros_like(values[:, 0])  # (B,)
    following_advantage = torch.zeros_like(following_value)
    discounts = torch.as_tensor(gamma, dtype=values.dtype).expand_as(values)
    columns = []
    for t in range(values.shape[1] - 1, -1, -1):
        discount = discounts[:, t]
        delta = rewards[:, t] + discount * following_value - values[:, t]
        advantage = delta + discount * lam * following_advantage
        on = mask[:, t] > 0
        following_value = torch.where(on, values[:, t], following_value)
        following_advantage = torch.where(on, advantage, following_advantage)
        columns.append(following_advantage)
    advantages = torch.stack(columns[::-1], dim=1)  # (B, T)
    return advantages, advantages + values


def bi_level_gae(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    turn_ends: Tensor,
    *,
    gamma: float,
    lam: float,
    high_level_gamma: float,
) -> tuple[Tensor, Tensor]:
    """Turn-level GAE that sets each turn's target, then token-level GAE inside each turn (RAGEN's code; in no paper).

    Over the turn ends `e_1 .. e_K` of a row, `A_k = r_k + gamma_h V(e_k+1) - V(e_k) + gamma_h lam A_k+1`, and the
    turn's target `A_k + V(e_k)` replaces its reward. Inside a turn, GAE with `gamma` and `lam` ends at `e_k`.

    `turn_ends` (B, T) is 1 on the last sampled token of each turn; it comes from the mask and never from rewards, so a
    trajectory of zero rewards has its turns too. Turn rewards lie on those tokens. One turn is ordinary GAE.
    Returns `(advantages, returns)`, `(B, T)`, not whitened. `ValueError` if a turn ends on an unsampled token.
    """
    if bool(((turn_ends > 0) & (mask == 0)).any()):
        raise ValueError("turn_ends marks an unsampled token; mark the last token of each turn where mask is 1.")
    turn_advantages, _ = gae(rewards, values, turn_ends, gamma=high_level_gamma, lam=lam)
    targets = torch.where(turn_ends > 0, turn_advantages + values, rewards)
    following_value = torch.zeros_like(values[:, 0])
    following_advantage = torch.zeros_like(following_value)
    columns = []
    for t in range(values.shape[1] - 1, -1, -1):
        # nothing follows a turn's last token here: its target already contains the future
        last = turn_ends[:, t] > 0
        next_value = torch.where(last, 0.0, following_value)
        next_advantage = torch.where(last, 0.0, following_advantage)
        advantage = targets[:, t] + gamma * next_value - values[:, t] + gamma * lam * next_advantage
        on = mask[:, t] > 0
        following_value = torch.where(on, values[:, t], following_value)
        following_advantage = torch.where(on, advantage, following_advantage)
        columns.append(following_advantage)
    advantages = torch.stack(columns[::-1], dim=1)
    return advantages, advantages + values


def grpo(returns: Tensor, groups: Tensor, mask: Tensor, *, scale_by_std: bool = True) -> Tensor:
    """`(R - mean of group) / (std of group + 1e-6)` on every sampled token (GRPO, arXiv 2402.03300).

    `returns` and `groups` are `(B,)`, the result `(B, T)`. `std` is unbiased. Without `scale_by_std` it is Dr. GRPO
    (arXiv 2503.20783). A group of equal returns has advantage exactly 0; a group of one keeps its return (mean 0,
    std 1), as in RAGEN and verl. A row without a sampled token still counts in its group's statistics.
    """
    means, stds, counts = _group_statistics(returns, groups)
    alone = counts == 1
    centred = returns - torch.where(alone, 0.0, means)
    scale = torch.where(alone, 1.0, stds) + EPSILON if scale_by_std else torch.ones_like(stds)
    return (centred / scale)[:, None] * mask


def rloo(returns: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    """Return minus the mean of the others in the group (RLOO, arXiv 2402.14740): `n / (n - 1) * (R - mean)`.

    A group of one has no others; its advantage is its return.
    """
    means, _, counts = _group_statistics(returns, groups)
    alone = counts == 1
    scaled = counts / (counts - 1).clamp(min=1) * (returns - means)
    return torch.where(alone, returns, scaled)[:, None] * mask


def step_discounts(mask: Tensor, turn_ends: Tensor, *, gamma: float, turn_discount: float) -> Tensor:
    """`(B, T)`: the discount from a token to the next: `gamma`, times `turn_discount` where a turn ends."""
    return gamma * torch.where(turn_ends > 0, turn_discount, torch.ones_like(mask))


def turn_advantages(
    rewards: Tensor,
    groups: Tensor,
    turns: Tensor,
    *,
    turn_discount: float,
    compare: Callable[[Tensor, Tensor, Tensor], Tensor],
) -> Tensor:
    """Turns against the same turn of the others in their group, `(B, T)`; 0 where nothing was sampled.

    The reward to go of turn k, `G_k = r_k + turn_discount G_k+1`, is compared with that of the members that have a
    turn k as well; `compare` is an estimator that takes `(N,)` returns, `(N,)` groups and an `(N, 1)` mask. A
    turn that only one member reached has nothing to compare with: 0. The first turns of a group share one state;
    later ones do not, so there the mean is a baseline for the turn, not for the state.

    `rewards` (B, T) lie on the last tokens of turns, `turns` (B, T) numbers them from 0, -1 on unsampled tokens.
    """
    count = int(turns.max()) + 1 if turns.numel() else 0
    to_go = torch.zeros(len(rewards), count + 1, dtype=rewards.dtype)  # (B, K + 1)
    for k in range(count - 1, -1, -1):
        to_go[:, k] = (rewards * (turns == k)).sum(dim=1) + turn_discount * to_go[:, k + 1]
    found = torch.zeros_like(rewards)
    for k in range(count):
        rows = (turns == k).any(dim=1).nonzero().squeeze(-1)  # members that have a turn k
        advantages = compare(to_go[rows, k], groups[rows], torch.ones(len(rows), 1)).squeeze(-1)
        _, index, sizes = torch.unique(groups[rows], return_inverse=True, return_counts=True)
        advantages = torch.where(sizes[index] > 1, advantages, 0.0)
        found[rows] += advantages[:, None] * (turns[rows] == k)
    return found


def reinforce_plus_plus(rewards: Tensor, mask: Tensor, *, gamma: float | Tensor, across_turns: bool = True) -> Tensor:
    """Discounted reward-to-go over sampled tokens, whitened over the batch (REINFORCE++, arXiv 2501.03262).

    The sum continues across environment tokens, so that early turns are credited with later reward, as in verl 0.9.
    Without `across_turns` it restarts at every gap: with all reward at the end only the last turn is credited. Equal
    sums everywhere, such as all-zero rewards, give 0.
    """
    running = torch.zeros_like(rewards[:, 0])  # (B,)
    discounts = torch.as_tensor(gamma, dtype=rewards.dtype).expand_as(rewards)
    columns = []
    for t in range(rewards.shape[1] - 1, -1, -1):
        at_gap = running if across_turns else torch.zeros_like(running)
        running = torch.where(mask[:, t] > 0, rewards[:, t] + discounts[:, t] * running, at_gap)
        columns.append(running)
    return whiten(torch.stack(columns[::-1], dim=1), mask) * mask


def remax(returns: Tensor, baselines: Tensor, mask: Tensor) -> Tensor:
    """Return minus that of a greedy episode from the same start (ReMax, arXiv 2310.10505). Both are `(B,)`."""
    return (returns - baselines)[:, None] * mask


def reinforce_plus_plus_baseline(returns: Tensor, groups: Tensor, mask: Tensor) -> Tensor:
    """Return minus group mean, whitened over the sampled tokens of the batch (REINFORCE++-baseline, arXiv 2501.03262).

    Whitening is by token, so longer rows weigh more in it. A group of one keeps its return before whitening.
    """
    means, _, counts = _group_statistics(returns, groups)
    centred = returns - torch.where(counts == 1, 0.0, means)
    return whiten(centred[:, None] * mask, mask) * mask


def whiten(x: Tensor, mask: Tensor) -> Tensor:
    """`(x - mean) / sqrt(var + 1e-8)` with mean and unbiased variance over masked entries of the whole batch.

    Unmasked entries are shifted and scaled too and are not meaningful. 0 everywhere with fewer than two masked entries.
    In float64, for the reason that `_group_statistics` gives.
    """
    count = mask.sum()
    if count < 2:
        return torch.zeros_like(x)
    precise, among = x.double(), mask.double()
    mean = (precise * among).sum() / count
    variance = ((precise - mean) ** 2 * among).sum() / (count - 1)
    return ((precise - mean) * torch.rsqrt(variance + 1e-8)).to(x.dtype)


def _group_statistics(returns: Tensor, groups: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Each row's group mean, unbiased standard deviation (0 for one) and size, all `(B,)`.

    In float64, where the mean of equal float32 numbers is exactly that number: rounding noise divided by a standard
    deviation of rounding noise would look like a signal.
    """
    precise = returns.double()
    _, index = torch.unique(groups, return_inverse=True)  # (B,) in [0, number of groups)
    counts = torch.bincount(index).double()
    means = torch.zeros_like(counts).index_add(0, index, precise) / counts
    squares = torch.zeros_like(counts).index_add(0, index, (precise - means[index]) ** 2)
    stds = (squares / (counts - 1).clamp(min=1)).sqrt()
    dtype = torch.promote_types(returns.dtype, torch.float32)
    return means[index].to(dtype), stds[index].to(dtype), counts[index].to(dtype)
