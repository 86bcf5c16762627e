"""The learner: gradient steps of the policy, and of the critic if there is one, on a step's kept trajectories.

It owns the optimisers. Advantages and the kept groups are decided before it is called.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.algorithms import losses
from engine.algorithms.entropy_bonus import entropy_coefficient
from engine.algorithms.variants.base import CriticConfig
from engine.compilers import require_compiler
from engine.config import RunConfig
from engine.config.learning_rate import learning_rate
from engine.errors import ModelError
from engine.policies.agreement import check_packs
from engine.policies.frozen_weights import halve_frozen
from engine.policies.loading import LanguageModel, compute_in, device_of, without_dropout
from engine.policies.meta_model import keeps_names
from engine.policies.packing import allow_packing
from engine.rollout.batching import Batch
from engine.training.meter import Meter
from engine.training.optimizers import adamw
from engine.training.reference import AdapterOff, FrozenCopy, Reference, StartingAdapter
from engine.training.sharding import Alone, Share, scattered, scattered_optimizer
from engine.training.token_values import Critic, logprobs_and_entropies, tokens_per_forward
from engine.training.weight_average import WeightAverage


class Learner:
    """`reference` is the model that the run started with, if `model` is no longer that. `share` is this process's part
    of the update; with several processes, each has a meta model or a whole one, which is sharded here."""

    def __init__(
        self,
        model: LanguageModel,
        config: RunConfig,
        *,
        reference: LanguageModel | None = None,
        share: Share | None = None,
    ) -> None:
        self.config = config
        self.model = model
        self.share = share or Alone()
        optimizer = config.optimizer
        without_dropout(model)
        compute_in(model, optimizer.precision, float32=optimizer.float32_matmul_precision)
        model.compiles_scores = optimizer.compile_scores
        if optimizer.compile_scores:
            on_cpu = device_of(model).type == "cpu" or not torch.cuda.is_available()
            require_compiler("cpu" if on_cpu else "cuda")
        if optimizer.packing:
            allow_packing(model)
        if optimizer.gradient_checkpointing:
            recompute_activations(model)
        if self.share.size == 1:
            halve_frozen(model)
        self.reference: Reference | None = None
        if config.copies_reference:
            self.reference = self._frozen_copy(reference)
        self.critic: Critic | None = None
        self.critic_optimizer: torch.optim.Optimizer | None = None
        self.critic_settings = config.algorithm.critic_settings
        if self.critic_settings is not None:
            self.critic = Critic(deepcopy(model.base_model), model.config.hidden_size)
            self.critic.head.to(device_of(model))
            self.share.shard_body(self.critic.body)
            self.critic_optimizer = adamw(
                trainable_parameters(self.critic), optimizer, learning_rate=self.critic_settings.learning_rate
            )
        self.share.shard_model(model)
        if optimizer.packing:
            check_packs(model)
        if config.needs_reference and not config.copies_reference:
            self.reference = self._adapter_at_the_start()
        self.optimizer = adamw(trainable_parameters(model), optimizer, learning_rate=optimizer.learning_rate)
        self.average = WeightAverage(model, decay=optimizer.ema_decay) if optimizer.ema_decay else None

    @cached_property
    def merges_one_by_one(self) -> bool:
        """Whether a model with its adapter merged can be written one weight at a time: its files have its names."""
        return keeps_names(self.model, self.config.model.versioned_path)

    def _adapter_at_the_start(self) -> Reference:
        if not self.config.starts_from_adapter:
            return AdapterOff(self.model)
        return StartingAdapter(self.model, Path(self.config.model.adapter).expanduser())

    def _frozen_copy(self, model: LanguageModel | None) -> Reference:
        if model is None:
            model = deepcopy(self.model)
        compute_in(model, self.config.optimizer.precision, float32=self.config.optimizer.float32_matmul_precision)
        model.compiles_scores = self.config.optimizer.compile_scores
        if self.config.optimizer.packing:
            allow_packing(model)
        self.share.shard_model(model)
        frozen = FrozenCopy(model)
        if self.share.size == 1:
            halve_frozen(model)
        return frozen

    @torch.no_grad()
    def values(self, batch: Batch) -> Tensor:
        """The critic's values (B, T) of a batch."""
        critic, _, _ = self._with_critic()
        values = torch.zeros_like(batch.mask)
        for rows, counts in self._micro_batches(batch, torch.arange(len(batch))):
            part = batch.rows(rows)
            found = critic(part.ids, part.mask, part.contexts)
            if counts:
                values[rows, : part.ids.shape[1]] = found
        return self.share.sum(values)

    @torch.no_grad()
    def score(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies (B, T) of sampled tokens under the current policy."""
        batch = replace(batch, mask=batch.sampled)  # masked ones are recorded too
        logprobs, entropies = torch.zeros_like(batch.mask), torch.zeros_like(batch.mask)
        for rows, counts in self._micro_batches(batch, torch.arange(len(batch))):
            part = batch.rows(rows)
            found = self._logprobs_and_entropies(self.model, part)
            if counts:
                wide = part.ids.shape[1]
                logprobs[rows, :wide], entropies[rows, :wide] = found
        return self.share.sum(logprobs), self.share.sum(entropies)

    @torch.no_grad()
    def kl_in_reward(self, batch: Batch) -> Tensor | None:
        """Policy minus reference log-probabilities (B, T), in nats; None unless KL is subtracted from rewards."""
        if not self.config.algorithm.reward_kl:
            return None
        found = torch.zeros_like(batch.mask)
        for rows, counts in self._micro_batches(batch, torch.arange(len(batch))):
            part = batch.rows(rows)
            reference = self.reference_logprobs(part)
            if reference is not None and counts:
                found[rows, : part.ids.shape[1]] = (part.logprobs - reference) * part.mask
        return self.share.sum(found)

    def update(
        self,
        batch: Batch,
        advantages: Tensor,
        *,
        step: int,
        shuffle: torch.Generator,
        values: Tensor | None = None,
        returns: Tensor | None = None,
        tokens: int | None = None,
    ) -> dict[str, float]:
        """All mini-batches of one step. Metrics are means over them, weighted by sampled tokens. `tokens` are those
        sampled so far, for a warm-up by tokens."""
        meter = Meter()
        rate = self._set_learning_rate(step, tokens)
        bonus = entropy_coefficient(self.config.loss, batch)
        self.model.train()
        if self.critic is not None:
            self.critic.train()
        first = True
        for rows in self._mini_batches(len(batch), shuffle):
            if self.critic is not None and values is not None and returns is not None:
                self._update_critic(batch, rows, values, returns, meter)
            if self.critic_settings is None or step > self.critic_settings.warmup_steps:
                self._update_policy(batch, rows, advantages, meter, bonus=bonus, first=first)
            first = False
        self.model.eval()
        if self.critic is not None:
            self.critic.eval()
        metrics = meter.means()
        metrics |= {"optim/learning_rate": rate, "optim/entropy_coefficient": bonus}
        return metrics

    def _mini_batches(self, rows: int, shuffle: torch.Generator) -> Iterator[Tensor]:
        parts = min(self.config.optimizer.updates_per_step, rows)
        for _ in range(self.config.optimizer.epochs):
            yield from torch.randperm(rows, generator=shuffle).tensor_split(parts)

    def _micro_batches(self, batch: Batch, rows: Tensor) -> list[tuple[Tensor, bool]]:
        """This process's part of `rows`, in micro-batches with a sampled token, and whether each counts."""
        optimizer = self.config.optimizer
        most = tokens_per_forward(optimizer, self.model.device)
        parts = batch.micro_batches(rows, max_tokens=most, padded=not optimizer.packing)
        some = [part for part in parts if batch.mask[part].any()]
        return self.share.split(some) if some else []

    def _update_policy(
        self, batch: Batch, rows: Tensor, advantages: Tensor, meter: Meter, *, bonus: float, first: bool
    ) -> None:
        """One mini-batch; `bonus` is the coefficient of the entropy bonus."""
        loss_config = self.config.loss
        aggregation = loss_config.aggregation
        total = losses.loss_normalizer(batch.mask[rows], aggregation.type, length=aggregation.constant)
        tokens = batch.mask[rows].sum().clamp(min=1)
        sums: dict[str, float] = defaultdict(float)
        for index, counts in self._micro_batches(batch, rows):
            part = batch.rows(index)
            wide = part.ids.shape[1]
            start = self.reference_logprobs(part) if loss_config.kl_coefficient > 0 else None
            logprobs, entropies = self._logprobs_and_entropies(self.model, part)
            policy = losses.policy_loss(
                logprobs,
                part.logprobs,
                advantages[index, :wide],
                part.mask,
                clip_low=loss_config.clip_low,
                clip_high=loss_config.clip_high,
                dual_clip=loss_config.dual_clip,
                aggregation=aggregation.type,
                normalizer=total,
            )
            entropy = losses.aggregate(entropies, part.mask, aggregation.type, normalizer=total)
            loss = policy.loss - bonus * entropy
            if start is not None:
                kl = losses.kl_penalty(logprobs, start, loss_config.kl_kind)
                penalty = losses.aggregate(kl, part.mask, aggregation.type, normalizer=total)
                loss = loss + loss_config.kl_coefficient * penalty
            (loss * self.share.size * counts).backward()
            if not counts:
                continue
            if start is not None:
                sums["policy/kl_to_reference"] += float((kl.detach() * part.mask).sum() / tokens)
            share = float(part.mask.sum() / tokens)
            sums["policy/loss"] += float(policy.loss.detach())
            sums["policy/kl"] += policy.approx_kl * share
            sums["policy/clip_fraction"] += policy.clip_fraction * share
            sums["policy/clipped_above"] += policy.clipped_above * share
            sums["policy/clipped_below"] += policy.clipped_below * share
            sums["policy/clip_fraction_low"] += policy.clip_fraction_low * share
            sums["policy/ratio_max"] = max(sums["policy/ratio_max"], policy.ratio_max)
            if first:
                # nothing has been updated yet, so a difference is the sampler's and learner's own
                sums["policy/sampler_kl"] += float(((part.logprobs - logprobs.detach()) * part.mask).sum() / tokens)
        norm = self._step(self.model, self.optimizer, meter)
        if self.average is not None:
            self.average.add()
        meter.add({**self.share.total(sums), "optim/grad_norm": norm}, weight=float(tokens))

    def reference_logprobs(self, part: Batch) -> Tensor | None:
        """Log-probabilities (B, T) under the reference model; None without a KL penalty."""
        if self.reference is None:
            return None
        with torch.no_grad(), self.reference.model() as model:
            return self._logprobs_and_entropies(model, part)[0]

    def _logprobs_and_entropies(self, model: LanguageModel, part: Batch) -> tuple[Tensor, Tensor]:
        return logprobs_and_entropies(
            model, part.ids, part.mask, part.contexts, temperature=self.config.rollout.temperature
        )

    def _update_critic(self, batch: Batch, rows: Tensor, values: Tensor, returns: Tensor, meter: Meter) -> None:
        critic, optimizer, settings = self._with_critic()
        tokens = batch.mask[rows].sum().clamp(min=1)
        sums = {"value/loss": 0.0, "value/clip_fraction": 0.0}
        for index, counts in self._micro_batches(batch, rows):
            part = batch.rows(index)
            wide = part.ids.shape[1]
            found, clip = critic(part.ids, part.mask, part.contexts), settings.value_clip
            old, targets = values[index, :wide], returns[index, :wide]
            loss = losses.value_loss(found, old, targets, part.mask, clip=clip, normalizer=tokens)
            (loss * self.share.size * counts).backward()
            if counts:
                sums["value/loss"] += float(loss.detach())
                clipped = losses.value_clip_fraction(found, old, targets, part.mask, clip=clip)
                sums["value/clip_fraction"] += clipped * float(part.mask.sum() / tokens)
        norm = self._step(critic, optimizer, meter)
        meter.add({**self.share.total(sums), "optim/critic_grad_norm": norm}, weight=float(tokens))

    def _with_critic(self) -> tuple[Critic, torch.optim.Optimizer, CriticConfig]:
        if self.critic is None or self.critic_optimizer is None or self.critic_settings is None:
            raise ValueError(f"{self.config.algorithm.type} has no critic; ppo and bi_level_gae have one.")
        return self.critic, self.critic_optimizer, self.critic_settings

    def _step(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer, meter: Meter) -> float:
        """Clips the gradient and steps; a non-finite one is skipped and counted. Returns the norm before clipping."""
        norm = self.share.clip(module.parameters(), self.config.optimizer.max_grad_norm)
        if isfinite(norm):
            optimizer.step()
        else:
            meter.skipped += 1
        optimizer.zero_grad(set_to_none=True)
        return norm

    def _set_learning_rate(self, step: int, tokens: int | None) -> float:
        before = self.config.model.start_from.steps_before
        rate = learning_rate(self.config.optimizer, before + step, steps=before + self.config.steps, tokens=tokens)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def swap_weights(self) -> None:
        """Exchanges the model's weights with their moving average."""
        if self.average is None:
            raise ValueError("There is no moving average of the weights; optimizer.ema_decay keeps one.")
        self.average.swap()

    def state_dict(self) -> dict[str, Any]:
        """The state, with this process's shards of sharded tensors."""
        state: dict[str, Any] = {"optimizer": self.optimizer.state_dict()}
        if self.average is not None:
            state["average"] = self.average.state_dict()
        if self.critic is not None and self.critic_optimizer is not None:
            state |= {"critic": trained_state(self.critic), "critic_optimizer": self.critic_optimizer.state_dict()}
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Loads an unsharded state, or one whose tensors are in files (`engine.training.learner_state`)."""
        self.optimizer.load_state_dict(scattered_optimizer(state["optimizer"], self.optimizer))
        if self.average is not None and "average" in state:  # else it begins at the weights of the checkpoint
            self.average.load_state_dict(state["average"])
        if self.critic is not None and self.critic_optimizer is not None:
            load_trained_state(self.critic, state["critic"])
            self.critic_optimizer.load_state_dict(scattered_optimizer(state["critic_optimizer"], self.critic_optimizer))


def trainable_parameters(module: torch.nn.Module) -> list[torch.nn.Parameter]:
    return [weight for weight in module.parameters() if weight.requires_grad]


def trained_state(module: torch.nn.Module) -> dict[str, Tensor]:
    """The state without frozen weights; with LoRA those are the model's own."""
    frozen = {name for name, weight in module.named_parameters() if not weight.requires_grad}
    return {name: value for name, value in module.state_dict().items() if name not in frozen}


def load_trained_state(module: torch.nn.Module, state: dict[str, Tensor]) -> None:
    """`KeyError` unless `state` has exactly what `trained_state` has."""
    expected = trained_state(module)
    if expected.keys() != state.keys():
        raise KeyError(f"it has different weights: {min(expected.keys() ^ state.keys())}")
    module.load_state_dict({name: scattered(value, expected[name]) for name, value in state.items()}, strict=False)


def recompute_activations(model: LanguageModel) -> None:
    """Saves only each layer's input in training, and recomputes the rest in the backward pass."""
    if not model.supports_gradient_checkpointing:
        raise ModelError(
            f"{type(model).__name__} does not support gradient checkpointing.",
            remedy="Set optimizer.gradient_checkpointing to false, and lower optimizer.micro_batch_tokens instead.",
        )
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
