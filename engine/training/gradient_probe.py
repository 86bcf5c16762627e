"""The gradient decomposition of a step's trajectories, with the same losses as the learner's."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from engine.algorithms import losses
from engine.algorithms.entropy_bonus import entropy_coefficient
from engine.algorithms.group_scores import group_scores
from engine.config import RunConfig
from engine.diagnostics.gradients import COMPONENTS, Losses, bucket_metrics, buckets_by_reward_std, gradient_norms
from engine.rollout.batching import Batch
from engine.training.credit import assign_credit
from engine.training.learner import Learner, trainable_parameters
from engine.training.step_update import weighted_advantages
from engine.training.token_values import logprobs_and_entropies, tokens_per_forward


def gradient_metrics(learner: Learner, batch: Batch, config: RunConfig, *, scale: float = 1.0) -> dict[str, float]:
    """`gradient/<bucket>/…` over all groups of a step, filtered or not. It changes no state and draws nothing.

    Advantages are multiplied by `scale`, by which the filter scales the step's loss.
    """
    values = learner.values(batch) if learner.critic is not None else None
    credit = assign_credit(config.algorithm, batch, values, learner.kl_in_reward(batch))
    advantages = weighted_advantages(config, batch, credit.advantages * scale)
    wanted = config.diagnostics
    stds = group_scores(batch.returns, batch.groups).tolist()
    parameters = trainable_parameters(learner.model)
    was_training = learner.model.training
    learner.model.train()  # as in an update: activations are recomputed if that is configured
    bonus = entropy_coefficient(config.loss, batch)
    norms = [
        gradient_norms(_losses(learner, batch.rows(rows), advantages[rows], config, bonus), parameters)
        for rows in ((batch.groups == group).nonzero().squeeze(-1) for group in batch.groups.unique())
    ]
    learner.model.train(was_training)
    buckets = buckets_by_reward_std(
        stds, count=wanted.gradient_buckets, borders=wanted.gradient_borders, width=wanted.gradient_width
    )
    return bucket_metrics(norms, stds, buckets)


def _losses(learner: Learner, group: Batch, advantages: Tensor, config: RunConfig, bonus: float) -> Iterator[Losses]:
    """The terms of one group's loss with their coefficients, for each micro-batch; `bonus` is that of entropy."""
    loss, temperature = config.loss, config.rollout.temperature
    total = losses.loss_normalizer(group.mask, loss.aggregation.type, length=loss.aggregation.constant)
    most = tokens_per_forward(config.optimizer, learner.model.device)
    for rows in group.micro_batches(torch.arange(len(group)), max_tokens=most):
        part = group.rows(rows)
        if not part.mask.any():
            continue
        start = learner.reference_logprobs(part) if loss.kl_coefficient else None  # before there is a graph to hold
        seen = (part.ids, part.mask, part.contexts)
        logprobs, entropies = logprobs_and_entropies(learner.model, *seen, temperature=temperature)
        task = losses.policy_loss(
            logprobs,
            part.logprobs,
            advantages[rows, : part.ids.shape[1]],
            part.mask,
            clip_low=loss.clip_low,
            clip_high=loss.clip_high,
            dual_clip=loss.dual_clip,
            aggregation=loss.aggregation.type,
            normalizer=total,
        ).loss
        found: dict[str, Tensor] = {"task": task}
        if bonus:
            found["entropy"] = -bonus * losses.aggregate(entropies, part.mask, loss.aggregation.type, normalizer=total)
        if start is not None:
            kl = losses.kl_penalty(logprobs, start, loss.kl_kind)
            penalty = losses.aggregate(kl, part.mask, loss.aggregation.type, normalizer=total)
            found["kl"] = loss.kl_coefficient * penalty
        yield {name: found[name] for name in COMPONENTS if name in found}
