"""The gradient decomposition of a step's trajectories, with the very losses that the learner steps on.

`probe_run` is `python -m engine probe`: it rolls out with an old checkpoint, decomposes, and prints. Analysis only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from engine.algorithms import losses
from engine.algorithms.filtering import group_scores
from engine.config import RunConfig, read_config
from engine.diagnostics.gradients import COMPONENTS, Losses, bucket_metrics, buckets_by_spread, gradient_norms
from engine.errors import CheckpointError, RunDirectoryError
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.loading import context_limit, stop_ids
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.batching import Batch, collate, trainable
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EnvStateManager
from engine.training import checkpoint
from engine.training.credit import assign_credit, with_normalized_scores
from engine.training.forward_size import tokens_per_pass
from engine.training.learner import Learner, trainable_parameters
from engine.training.step_rollout import greedy_baselines
from engine.training.token_values import logprobs_and_entropies

PROBE_STREAM = 7


def gradient_metrics(learner: Learner, batch: Batch, config: RunConfig) -> dict[str, float]:
    """`gradient/<bucket>/…` of all groups of a step, filtered or not. Nothing is stepped, drawn or left behind."""
    values = learner.values(batch) if learner.critic is not None else None
    advantages = assign_credit(config.algorithm, batch, values, learner.kl_in_reward(batch)).advantages
    wanted = config.diagnostics
    spreads = group_scores(batch.returns, batch.groups).tolist()
    parameters = trainable_parameters(learner.model)
    was_training = learner.model.training
    learner.model.eval()
    norms = [
        gradient_norms(_losses(learner, batch.rows(rows), advantages[rows], config), parameters)
        for rows in ((batch.groups == group).nonzero().squeeze(-1) for group in batch.groups.unique())
    ]
    learner.model.train(was_training)
    buckets = buckets_by_spread(
        spreads, count=wanted.gradient_buckets, borders=wanted.gradient_borders, width=wanted.gradient_width
    )
    return bucket_metrics(norms, spreads, buckets)


def _losses(learner: Learner, group: Batch, advantages: Tensor, config: RunConfig) -> Iterator[Losses]:
    """The parts of one group's loss, each micro-batch's share of the whole; coefficients are in."""
    loss, temperature = config.loss, config.rollout.temperature
    total = losses.loss_normalizer(group.mask, loss.aggregation, length=loss.norm_length)
    tokens = group.mask.sum().clamp(min=1)
    most = tokens_per_pass(config.optimizer, learner.model.device)
    for rows in group.micro_batches(torch.arange(len(group)), max_tokens=most):
        part = group.rows(rows)
        if not part.mask.any():
            continue
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
            aggregation=loss.aggregation,
            normalizer=total,
        ).loss
        found: dict[str, Tensor] = {"task": task}
        if loss.entropy_coefficient:
            found["entropy"] = -loss.entropy_coefficient * (entropies * part.mask).sum() / tokens
        start = learner.reference_logprobs(part) if loss.kl_coefficient else None
        if start is not None:
            pull = losses.kl_penalty(logprobs, start, loss.kl_kind)
            found["kl"] = loss.kl_coefficient * (pull * part.mask).sum() / tokens
        yield {name: found[name] for name in COMPONENTS if name in found}


def probe_run(directory: Path, *, chosen: str | None = None) -> int:
    """Rolls out one batch with a run's checkpoint and prints norms by bucket. Writes nothing, and needs no lock."""
    if not (directory / "config.json").is_file():
        raise RunDirectoryError(f"{directory} has no config.json.", remedy="Give the directory of a run.")
    config = read_config(directory / "config.json")
    path = _checkpoint(directory / "checkpoints", chosen)
    metrics = probe_checkpoint(config, path)
    sys.stdout.write(f"{path.name}, {int(metrics['gradient/all/groups'])} groups\n{table(metrics)}\n")
    return 0


def probe_checkpoint(config: RunConfig, path: Path) -> dict[str, float]:
    """The decomposition of a fresh batch of training puzzles under the checkpoint at `path`."""
    torch.set_num_threads(config.threads or os.cpu_count() or 1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer, learner, progress = checkpoint.load_learner(config, path, device=device)
    model, step = learner.model, progress.step
    context = ContextManager(tokenizer, think=config.rollout.think)
    limit = context_limit(model, config.rollout.max_context_tokens)
    proxy = AgentProxy.of(config.rollout, context, max_context_tokens=limit)
    manager = EnvStateManager(
        config.environments,
        groups=config.rollout.groups,
        group_size=config.rollout.group_size,
        seed=config.seed,
        refills=config.rollout.refill,
    )
    specs = manager.training_batch(step + 1)
    sampler = BatchedSampler(
        model,
        rows=len(specs),
        stop_ids=stop_ids(model, tokenizer),
        temperature=config.rollout.temperature,
        seeds=[config.seed, step + 1, PROBE_STREAM],
    )
    trajectories = proxy.rollout(sampler, specs)
    baselines: dict[int, float] = {}
    if config.algorithm.estimator == "remax":
        baselines, _ = greedy_baselines(model, proxy, specs, trajectories, stop_ids=stop_ids(model, tokenizer))
    batch = collate([trajectories[place] for place in trainable(trajectories)], baselines=baselines)
    return gradient_metrics(learner, with_normalized_scores(config.algorithm, batch), config)


def _checkpoint(directory: Path, chosen: str | None) -> Path:
    found = directory / chosen if chosen else checkpoint.newest_good(directory)
    if found is None or found.parent != directory or not checkpoint.is_good(found):
        known = ", ".join(path.name for path in checkpoint.checkpoints(directory)) or "none"
        raise CheckpointError(
            f"There is no good checkpoint {chosen or ''} in {directory}.".replace("  ", " "),
            remedy=f"Use one of those that are there: {known}.",
        )
    return found


COLUMNS = ("groups", "reward_std", *COMPONENTS, "regularizer_share")


def table(metrics: dict[str, float]) -> str:
    """One row for each bucket, in order of spread."""
    buckets = list(dict.fromkeys(name.split("/")[1] for name in metrics))
    lines = ["bucket     " + "".join(f"{column:>19}" for column in COLUMNS)]
    for bucket in [*buckets[1:], *buckets[:1]]:
        lines.append(f"{bucket:<11}" + "".join(f"{metrics[f'gradient/{bucket}/{name}']:>19.4g}" for name in COLUMNS))
    return "\n".join(lines)
