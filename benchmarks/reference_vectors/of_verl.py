"""Results of verl's published functions (arXiv 2409.19256)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.reference_vectors.batches import GROUPS

AGGREGATIONS = {
    "token_mean": "token-mean",
    "sequence_mean_token_sum": "seq-mean-token-sum",
    "sequence_mean_token_mean": "seq-mean-token-mean",
    "sequence_mean_token_sum_norm": "seq-mean-token-sum-norm",
}


def answers(given: dict[str, Tensor]) -> dict[str, Any]:
    """verl's results by our names; advantages are cleared where nothing was sampled."""
    from verl.trainer.ppo import core_algos as verl

    mask, rewards, groups = given["mask"], given["rewards"], np.array(GROUPS)
    grouped = {"token_level_rewards": rewards, "response_mask": mask, "index": groups}
    gamma, lam = torch.tensor(0.9), torch.tensor(0.95)
    gae, returns = verl.compute_gae_advantage_return(rewards, given["values"], mask, gamma, lam)
    config: Any = SimpleNamespace(gamma=0.9)
    found: dict[str, Any] = {
        "gae": gae * mask,
        "gae_returns": returns * mask,
        "grpo": verl.compute_grpo_outcome_advantage(**grouped)[0],
        "dr_grpo": verl.compute_grpo_outcome_advantage(**grouped, norm_adv_by_std_in_grpo=False)[0],
        "rloo": verl.compute_rloo_outcome_advantage(**grouped)[0],
        "remax": verl.compute_remax_outcome_advantage(rewards, given["baselines"], mask)[0] * mask,
        "reinforce_plus_plus": verl.compute_reinforce_plus_plus_outcome_advantage(rewards, mask, config=config)[0],
        "reinforce_plus_plus_baseline": verl.compute_reinforce_plus_plus_baseline_outcome_advantage(**grouped)[0],
    }
    for ours, theirs in AGGREGATIONS.items():
        loss, clipped, kl, bounded = verl.compute_policy_loss(
            given["old_logprobs"],
            given["logprobs"],
            given["advantages"],
            mask,
            cliprange=0.2,
            cliprange_low=0.2,
            cliprange_high=0.28,
            clip_ratio_c=3.0,
            loss_agg_mode=theirs,
        )
        found[f"policy_loss/{ours}"] = loss
        found["clip_fraction"], found["approx_kl"], found["clip_fraction_low"] = clipped, kl, bounded
    found["value_loss"] = verl.compute_value_loss(
        given["values"], given["targets"], given["old_values"], mask, cliprange_value=0.5
    )[0]
    for kind in ("k1", "k2", "k3", "k1+", "k3+"):
        logprobs = given["logprobs"].clone().requires_grad_()
        kl = verl.kl_penalty(logprobs, given["ref_logprobs"], kind)
        found[f"kl/{kind}"] = kl.detach() * mask
        found[f"kl_gradient/{kind}"] = torch.autograd.grad((kl * mask).sum(), logprobs)[0]
    return found
