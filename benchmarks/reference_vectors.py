"""Writes what verl's published functions answer on random batches, as fixtures for the tests of `engine.algorithms`.

Run it by hand in an environment of its own that has verl (it is needed for nothing else):

    python benchmarks/reference_vectors.py tests/engine/algorithms/reference

One JSON file: numbers alone, the version of verl and of torch, and the seed. Masks are ragged, with turns, a row
without a sampled token, a group of one and a group of equal scores.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

SEED = 20504
ROWS, WIDTH = 7, 12
GROUPS = [0, 0, 0, 1, 1, 2, 0]  # group 1 has equal scores, group 2 is of one, the last row has no sampled token
AGGREGATIONS = {
    "token_mean": "token-mean",
    "sequence_mean_token_sum": "seq-mean-token-sum",
    "sequence_mean_token_mean": "seq-mean-token-mean",
    "sequence_mean_token_sum_norm": "seq-mean-token-sum-norm",
}


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


def answers(given: dict[str, Tensor]) -> dict[str, Any]:
    """verl's answers by name of ours; advantages are cleared where nothing was sampled."""
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


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("Give the folder that the fixture is written to.")
    generator = torch.Generator().manual_seed(SEED)
    cases = []
    for zero in (False, True):
        given = inputs(generator, zero=zero)
        found = answers(given)
        cases.append({"given": as_lists(given), "groups": GROUPS, "expected": as_lists(found)})
    written = {"verl": version("verl"), "torch": version("torch"), "seed": SEED, "cases": cases}
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "verl.json").write_text(json.dumps(written) + "\n")


def as_lists(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: rounded(value.tolist()) for name, value in tensors.items()}


def rounded(value: Any) -> Any:
    return [rounded(each) for each in value] if isinstance(value, list) else float(f"{value:.8g}")


if __name__ == "__main__":
    main()
