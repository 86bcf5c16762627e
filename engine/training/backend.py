"""Where the policy lives while it trains. The trainer knows this and no model: here or on a cluster, its steps are the
same. `LocalBackend` is this process, on its CPU or one GPU; `engine.cluster.ray_backend` is any number of machines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from engine.config import RunConfig
from engine.diagnostics.cross_scores import Pairs, cross_score
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.loading import context_limit, stop_token_ids
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.batching import Batch
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.types import Trajectory
from engine.training import checkpoint
from engine.training.checkpoint import Progress
from engine.training.gradient_probe import gradient_metrics
from engine.training.learner import Learner, trainable_parameters
from engine.training.step_update import learn

Metrics = dict[str, float]


def never_cancelled() -> None:
    """The default cancellation check, which never cancels."""


class Backend(Protocol):
    """One run's policy. `context` has its tokenizer; `device` and the numbers of `parameters` are for the record."""

    context: ContextManager
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
        """A trajectory of each spec under the present policy, in order, and how many tokens were sampled.

        `check_cancelled` is called now and then while they are played, and raises to break off.
        """

    def score(self, trajectories: Sequence[Trajectory]) -> None:
        """Gives them the learner's log-probabilities and entropies, where another program sampled them."""

    def cross_scores(self, pairs: Pairs) -> Tensor:
        """`(M, N)` log-likelihoods, as `cross_score` has them."""

    def gradients(self, batch: Batch, *, scale: float = 1.0) -> Metrics:
        """The gradient by reward variance; nothing is stepped."""

    def learn(self, batch: Batch, *, step: int, scale: float) -> tuple[Tensor, Metrics]:
        """Credit and update; advantages are `(B, T)`."""

    def change(self, config: RunConfig) -> None:
        """Learns by other settings from the next update on; only those of `engine.config.live` may differ."""

    def adopt(self, learned: Path) -> None:
        """Takes up the optimiser's and critic's state of another run's checkpoint, before the first step."""

    def sync(self) -> None:
        """What is played from now on is of the newest policy. Not while something is played."""

    def save(self, directory: Path, progress: Progress) -> Path:
        """A checkpoint below `directory`."""

    def take_metrics(self) -> Metrics:
        """What there is to tell of the backend itself since it was last asked."""

    def close(self) -> None:
        """Frees everything; called once, however the attempt ended."""


class LocalBackend:
    """The model in this process: it samples and learns in turns."""

    def __init__(self, config: RunConfig, learner: Learner, tokenizer: Any) -> None:
        self.config, self.learner, self.tokenizer = config, learner, tokenizer
        model = self.model = learner.model
        self.context = ContextManager(tokenizer, think=config.rollout.think, stops=stop_token_ids(model))
        self.device = model.device.type
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.trainable_parameters = sum(weight.numel() for weight in trainable_parameters(model))
        limit = context_limit(model, config.rollout.max_context_tokens)
        self.proxy = AgentProxy.of(config.rollout, self.context, max_context_tokens=limit)

    @classmethod
    def open(cls, config: RunConfig, found: Path | None) -> tuple[LocalBackend, Progress]:
        """From the checkpoint `found`, else from the model that the configuration names."""
        torch.set_num_threads(config.threads or os.cpu_count() or 1)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        tokenizer, learner, progress = checkpoint.load_learner(config, found, device=device)
        return cls(config, learner, tokenizer), progress

    def play(
        self,
        specs: Sequence[EpisodeSpec],
        *,
        temperature: float,
        seeds: list[int],
        check_cancelled: Callable[[], None] = never_cancelled,
    ) -> tuple[list[Trajectory], int]:
        sampler = BatchedSampler(
            self.model, rows=len(specs), stop_ids=self.context.stop_ids, temperature=temperature, seeds=seeds
        )
        return self.proxy.rollout(sampler, list(specs), check_cancelled=check_cancelled), sampler.sampled_tokens

    def score(self, trajectories: Sequence[Trajectory]) -> None:
        """They have them: who sampled is who learns."""

    def cross_scores(self, pairs: Pairs) -> Tensor:
        temperature = self.config.rollout.temperature
        return cross_score(self.model, pairs.prompts, pairs.thoughts, temperature=temperature).cpu()

    def gradients(self, batch: Batch, *, scale: float = 1.0) -> Metrics:
        return gradient_metrics(self.learner, batch, self.config, scale=scale)

    def learn(self, batch: Batch, *, step: int, scale: float) -> tuple[Tensor, Metrics]:
        return learn(self.learner, batch, step=step, scale=scale)

    def change(self, config: RunConfig) -> None:
        self.config = self.learner.config = config

    def adopt(self, learned: Path) -> None:
        checkpoint.adopt(learned, self.learner)

    def sync(self) -> None:
        """Who samples is who learns."""

    def save(self, directory: Path, progress: Progress) -> Path:
        return checkpoint.save(directory, self.model, self.tokenizer, self.learner, progress)

    def take_metrics(self) -> Metrics:
        return {}

    def close(self) -> None:
        """The process is all there is, and it ends by itself."""
