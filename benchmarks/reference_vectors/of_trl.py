"""What TRL's GRPO trainer answers: its loss and the gradient of it, for each way to aggregate.

The loss is a method of the trainer, so a stand-in carries the settings that it reads, and the log-probabilities come
from a table in place of a model. Rows without a sampled token are left out: TRL counts them in its means of rows, ours
do not. Its advantages are lines within the trainer and cannot be asked for.
"""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

AGGREGATIONS = {
    "sequence_mean_token_mean": "grpo",
    "token_mean": "bnpo",
    "sequence_mean_token_sum_norm": "dr_grpo",
}


def answers(given: dict[str, Tensor]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for ours, theirs in AGGREGATIONS.items():
        found[f"policy_loss/{ours}"], found[f"policy_loss_gradient/{ours}"] = loss_and_gradient(given, theirs)
    return found


def loss_and_gradient(given: dict[str, Tensor], loss_type: str) -> tuple[Tensor, Tensor]:
    from trl.trainer.grpo_trainer import GRPOTrainer

    some = given["mask"].sum(dim=1) > 0
    logprobs = given["logprobs"][some].clone().requires_grad_()
    ids = torch.zeros_like(logprobs, dtype=torch.long)
    inputs = {
        "prompt_ids": ids[:, :1],
        "prompt_mask": torch.ones_like(ids[:, :1]),
        "completion_ids": ids,
        "completion_mask": given["mask"][some],
        "advantages": given["advantages"][some],
        "old_per_token_logps": given["old_logprobs"][some],
    }
    loss = GRPOTrainer._compute_loss(trainer(loss_type, logprobs), None, inputs)
    return loss.detach(), torch.autograd.grad(loss, logprobs)[0]


def trainer(loss_type: str, logprobs: Tensor) -> Any:
    alone = SimpleNamespace(reduce=lambda value, reduction: value, gather=lambda value: value, num_processes=1)
    return SimpleNamespace(
        loss_type=loss_type,
        beta=0.0,
        epsilon_low=0.2,
        epsilon_high=0.28,
        args=SimpleNamespace(delta=3.0, use_bias_correction_kl=False),
        max_completion_length=logprobs.shape[1],
        importance_sampling_level="token",
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        aux_loss_enabled=False,
        use_vllm=False,
        current_gradient_accumulation_steps=1,
        model=SimpleNamespace(training=True),
        accelerator=alone,
        _entropy_bonus_enabled=False,
        _metrics={"train": defaultdict(list)},
        _get_per_token_logps_and_entropies=lambda *given, **more: (logprobs, torch.zeros_like(logprobs), None),
    )
