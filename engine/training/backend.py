"""Where the policy is while it trains. The trainer uses this interface and never a model, so its steps are the same on
one machine and on a cluster. `LocalBackend` is this process, on its CPU or one GPU; `engine.cluster.ray_backend` runs
on any number of machines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from engine.cluster.forward_tokens import with_tokens
from engine.config import RunConfig
from engine.cpu_threads import threads_for
from engine.diagnostics.cross_scores import Pairs, cross_score
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.loading import context_limit, stop_token_ids
from engine.policies.rounded_weights import rounded_once
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.batching import Batch
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.types import Trajectory
from engine.training import checkpoint
from engine.training.background_save import BackgroundSaves, Write
from engine.training.checkpoint_state import LiveState, Progress
from engine.training.forward_size import ForwardSize, fitting_size
from engine.training.gradient_probe import gradient_metrics
from engine.training.learner import Learner, trainable_parameters
from engine.training.step_update import update

Metrics = dict[str, float]


def never_cancelled() -> None:
    """The default cancellation check, which never cancels."""


class Backend(Protocol):
    """One run's policy. `context` has its tokenizer; `device` and the parameter counts are recorded with the run.
    `forward_size` is None where the usual number of tokens goes through the model at once."""

    context: ContextManager
    forward_size: ForwardSize | None
    device: str
    parameters: int
    trainable_parameters: int

    def play(
        self,
        specs: Sequence[EpisodeSpec],
        *,
        temperature: float,
        seeds: list[int],
        check_cancelled: Callable[[], None] = never_cancelled,
    ) -> tuple[list[Trajectory], int]:
        """One trajectory per spec under the current policy, in order, and the number of sampled tokens.

        `check_cancelled` is called repeatedly meanwhile, and raises to cancel.
        """

    def score(self, trajectories: Sequence[Trajectory]) -> None:
        """Sets the learner's log-probabilities and entropies, if another program sampled the trajectories."""

    def cross_scores(self, pairs: Pairs) -> Tensor:
        """`(M, N)` log-likelihoods (see `engine.diagnostics.cross_scores`)."""

    def gradients(self, batch: Batch, *, scale: float = 1.0) -> Metrics:
        """Gradient norms by reward variance; the optimiser does not step."""

    def update(self, batch: Batch, *, step: int, scale: float, tokens: int | None = None) -> tuple[Tensor, Metrics]:
        """Assigns credit and updates the policy; returns advantages `(B, T)` and metrics. `tokens` are those sampled so
        far, for a warm-up by tokens."""

    def swap_weights(self) -> None:
        """Exchanges the policy's weights with their moving average, which needs `optimizer.ema_decay`. The second call
        undoes the first. Samplers get them with `sync_weights`."""

    def set_config(self, config: RunConfig) -> None:
        """Changed settings, from the next update on; only those of `engine.config.live` may differ."""

    def warm_start(self, path: Path) -> None:
        """Loads the optimiser's and critic's state of another run's checkpoint, before the first step."""

    def sync_weights(self) -> None:
        """Rollouts use the latest policy from now on. Not during a rollout."""

    def save(self, directory: Path, progress: Progress) -> Path:
        """Writes a checkpoint below `directory`; returns its path."""

    def start_save(self, directory: Path, progress: Progress) -> Write | None:
        """Copies what `save` writes, and writes the copy in the background, by `checkpoint.background`. None if `save`
        is to be used. One at a time."""

    def take_metrics(self) -> Metrics:
        """Metrics of the backend itself since the last call."""

    def close(self) -> None:
        """Releases everything; called once, however the attempt ended."""


class LocalBackend:
    """The model in this process, which samples and learns in turns."""

    def __init__(self, config: RunConfig, learner: Learner, tokenizer: Any) -> None:
        self.config, self.learner, self.tokenizer = config, learner, tokenizer
        self.forward_size: ForwardSize | None = None
        self.background = BackgroundSaves(learner, tokenizer)
        model = self.model = learner.model
        self.context = ContextManager(
            tokenizer,
            think=config.rollout.think,
            stops=stop_token_ids(model),
            stop_strings=config.rollout.stop_strings,
        )
        self.device = model.device.type
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.trainable_parameters = sum(weight.numel() for weight in trainable_parameters(model))
        limit = context_limit(model, config.rollout.max_context_tokens)
        self.proxy = AgentProxy.of(config.rollout, self.context, max_context_tokens=limit)

    @classmethod
    def open(cls, config: RunConfig, found: Path | None) -> tuple[LocalBackend, Progress]:
        """Loads the checkpoint `found`, or the configured model if that is None."""
        torch.set_num_threads(threads_for(config.threads))
        device = "cuda" if torch.cuda.is_available() else "cpu"
        size = fitting_size(config, found)
        if size is not None:
            config = with_tokens(config, size.tokens)
        tokenizer, learner, progress = checkpoint.load_learner(config, found, device=device)
        backend = cls(config, learner, tokenizer)
        backend.forward_size = size
        return backend, progress

    def play(
        self,
        specs: Sequence[EpisodeSpec],
        *,
        temperature: float,
        seeds: list[int],
        check_cancelled: Callable[[], None] = never_cancelled,
    ) -> tuple[list[Trajectory], int]:
        sampler = BatchedSampler(
            self.model,
            rows=len(specs),
            at_once=self.config.rollout.rows_at_once,
            stop_ids=self.context.stop_ids,
            stop_strings=self.context.stop_strings,
            temperature=temperature,
            seeds=seeds,
        )
        with rounded_once(self.model):
            trajectories = self.proxy.rollout(sampler, list(specs), check_cancelled=check_cancelled)
        return trajectories, sampler.sampled_tokens

    def score(self, trajectories: Sequence[Trajectory]) -> None:
        """Nothing to do: the same model samples and learns."""

    def cross_scores(self, pairs: Pairs) -> Tensor:
        temperature = self.config.rollout.temperature
        return cross_score(self.model, pairs.prompts, pairs.thoughts, temperature=temperature).cpu()

    def gradients(self, batch: Batch, *, scale: float = 1.0) -> Metrics:
        return gradient_metrics(self.learner, batch, self.config, scale=scale)

    def update(self, batch: Batch, *, step: int, scale: float, tokens: int | None = None) -> tuple[Tensor, Metrics]:
        return update(self.learner, batch, step=step, scale=scale, tokens=tokens)

    def swap_weights(self) -> None:
        self.learner.swap_weights()

    def set_config(self, config: RunConfig) -> None:
        self.config = self.learner.config = config

    def warm_start(self, path: Path) -> None:
        checkpoint.warm_start(path, self.learner)

    def sync_weights(self) -> None:
        """Nothing to do: the same model samples and learns."""

    def save(self, directory: Path, progress: Progress) -> Path:
        return checkpoint.save(directory, self.tokenizer, LiveState(self.learner, progress))

    def start_save(self, directory: Path, progress: Progress) -> Write | None:
        return self.background.start(directory, progress)

    def take_metrics(self) -> Metrics:
        return {}

    def close(self) -> None:
        """Nothing to release: the process ends."""
