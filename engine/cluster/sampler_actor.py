"""One sampler: a model in vLLM or in our own sampler, and its partition of the trajectories.

Environments run in the sampler's process, or in environment actors if the run has them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engine.quick_imports import quick_imports

with quick_imports():
    from torch import Tensor

    from engine.cluster.actor_process import device, gpu_metrics, location, set_up, use_threads
    from engine.cluster.environment_actors import ActorAssignment, RemoteEnvironments
    from engine.cluster.memory import VLLM_ROWS
    from engine.config import RunConfig
    from engine.errors import StarboardError
    from engine.policies.loading import compute_in, context_limit, load_model, load_tokenizer, stop_token_ids_of
    from engine.policies.rounded_weights import rounded_once
    from engine.policies.weight_checksums import WeightChecksum, model_checksums
    from engine.process_snapshots import ActorLocation
    from engine.rollout.agent_proxy import AgentProxy, ResponseSampler
    from engine.rollout.context_manager import ContextManager
    from engine.rollout.env_state_manager import EpisodeSpec
    from engine.rollout.types import Trajectory
    from engine.training.token_values import sequence_logprobs

if TYPE_CHECKING:
    from engine.policies.vllm_engine import VllmEngine


class SamplingBackend(Protocol):
    """A model that samples."""

    context_tokens: int

    def sampler(
        self, context: ContextManager, rows: int, *, temperature: float, seeds: list[int]
    ) -> ResponseSampler: ...

    def playing(self) -> AbstractContextManager[None]:
        """Held while trajectories are sampled."""

    def load(self, weights: Mapping[str, Tensor]) -> None: ...

    def checksums(self) -> dict[str, WeightChecksum]: ...

    def score(self, sequences: list[list[int]]) -> list[list[float]]: ...


class TorchSampling:
    def __init__(self, config: RunConfig) -> None:
        template = config.model.chat_template
        self.model, _ = load_model(config.model.versioned_path, device=device(), chat_template=template)
        compute_in(self.model, config.optimizer.precision, float32=config.optimizer.float32_matmul_precision)
        self.context_tokens = context_limit(self.model, config.rollout.max_context_tokens)
        self.at_once = config.rollout.rows_at_once

    def sampler(self, context: ContextManager, rows: int, *, temperature: float, seeds: list[int]) -> ResponseSampler:
        from engine.policies.batched_sampler import BatchedSampler

        return BatchedSampler(
            self.model,
            rows=rows,
            at_once=self.at_once,
            stop_ids=context.stop_ids,
            stop_strings=context.stop_strings,
            temperature=temperature,
            seeds=seeds,
        )

    def playing(self) -> AbstractContextManager[None]:
        return rounded_once(self.model)

    def load(self, weights: Mapping[str, Tensor]) -> None:
        # a head tied to the embedding comes once
        self.model.load_state_dict(dict(weights), strict=not self.model.config.tie_word_embeddings)

    def checksums(self) -> dict[str, WeightChecksum]:
        return model_checksums(self.model.parameters())

    def score(self, sequences: list[list[int]]) -> list[list[float]]:
        return [sequence_logprobs(self.model, ids) for ids in sequences]


class VllmSampling:
    def __init__(self, config: RunConfig, rows: int, transfer: str) -> None:
        from engine.policies.vllm_engine import VllmEngine

        cluster = config.cluster
        self.engine = VllmEngine(
            config.model.versioned_path,
            max_context_tokens=config.rollout.max_context_tokens,
            rows=min(rows, config.rollout.rows_at_once or VLLM_ROWS, VLLM_ROWS),
            tensor_parallel=cluster.tensor_parallel,
            memory_share=cluster.memory_share,
            seed=config.seed,
            dtype=config.optimizer.precision,
            transfer=transfer,
        )
        self.context_tokens = self.engine.context_tokens

    def sampler(self, context: ContextManager, rows: int, *, temperature: float, seeds: list[int]) -> ResponseSampler:
        from engine.policies.vllm_sampler import VllmSampler

        return VllmSampler(
            self.engine,
            rows=rows,
            stop_ids=context.stop_ids,
            stop_strings=context.stop_strings,
            temperature=temperature,
            seeds=seeds,
        )

    def playing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def load(self, weights: Mapping[str, Tensor]) -> None:
        self.engine.load_weights(weights.items())

    def checksums(self) -> dict[str, WeightChecksum]:
        return self.engine.checksums()

    def score(self, sequences: list[list[int]]) -> list[list[float]]:
        return self.engine.score(sequences)


class SamplerActor:
    backend: SamplingBackend

    def __init__(
        self, config: str, *, name: str, stacks: str, threads: int, gpu: bool, rows: int, transfer: str
    ) -> None:
        set_up(name, Path(stacks), gpu=gpu)
        use_threads(threads)
        self.config = RunConfig.model_validate_json(config)
        self.rows, self.transfer = rows, transfer

    def open(self) -> None:
        """Loads the model. Not in the constructor: of an error there Ray reports only that the actor died."""
        path = self.config.model.versioned_path
        self.backend = (
            TorchSampling(self.config)
            if self.config.cluster.sampler == "torch"
            else VllmSampling(self.config, self.rows, self.transfer)
        )
        rollout, stops = self.config.rollout, stop_token_ids_of(path)
        tokenizer = load_tokenizer(path, chat_template=self.config.model.chat_template)
        self.context = ContextManager(tokenizer, think=rollout.think, stops=stops, stop_strings=rollout.stop_strings)
        self.proxy = AgentProxy.of(self.config.rollout, self.context, max_context_tokens=self.backend.context_tokens)

    def location(self) -> ActorLocation:
        return location()

    def gpu_metrics(self) -> dict[str, float]:
        """Its use of its GPU since the last call."""
        return gpu_metrics()

    def play(
        self,
        specs: list[EpisodeSpec],
        *,
        temperature: float,
        seeds: list[int],
        assignment: ActorAssignment | None = None,
    ) -> tuple[list[Trajectory], int, StarboardError | None]:
        """Trajectories, the number of sampled tokens, and an error if no trajectory is usable."""
        sampler: Any = self.backend.sampler(self.context, len(specs), temperature=temperature, seeds=seeds)
        environments = RemoteEnvironments(assignment) if assignment is not None else None
        players = self.proxy.players(specs)
        with self.backend.playing():
            refusal = self.proxy.play_out(sampler, players, environments=environments)
        return [player.trajectory for player in players], sampler.sampled_tokens, refusal

    def load(self, weights: Mapping[str, Tensor]) -> float:
        """Loads the learner's weights; returns the seconds it took."""
        started = time.monotonic()
        self.backend.load(weights)
        return time.monotonic() - started

    def checksums(self) -> dict[str, WeightChecksum]:
        """Of its weights, to be compared with those that were sent (see `weight_sums.agree`)."""
        return self.backend.checksums()

    def score(self, sequences: list[list[int]]) -> list[list[float]]:
        return self.backend.score(sequences)

    def join_transfer(self, link: dict[str, Any]) -> None:
        self._vllm().join_transfer(link)

    def leave_transfer(self) -> None:
        self._vllm().leave_transfer()

    def start_update(self) -> None:
        self._vllm().start_update()

    def receive_update(self, part: dict[str, Any]) -> None:
        self._vllm().receive_update(part)

    def finish_update(self) -> None:
        self._vllm().finish_update()

    def _vllm(self) -> VllmEngine:
        if not isinstance(self.backend, VllmSampling):
            raise TypeError("Only vLLM has a weight transfer of its own.")
        return self.backend.engine

    def sleep(self) -> None:
        """Frees its GPU for the learner that shares it."""
        engine = getattr(self.backend, "engine", None)
        if engine is not None and engine.can_sleep:
            engine.sleep()

    def wake(self) -> None:
        engine = getattr(self.backend, "engine", None)
        if engine is not None and engine.can_sleep:
            engine.wake()
