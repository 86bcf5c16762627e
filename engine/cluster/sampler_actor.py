"""One sampler: a model in vLLM (or our own sampler), and its share of the trajectories.

Their environments are played beside it, or by environment actors where the run has them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor

from engine.cluster.actor_crew import Actors, Stages
from engine.cluster.actor_device import device, use_threads
from engine.cluster.actor_setup import place, set_up
from engine.cluster.gpu_use import gpu_use
from engine.cluster.looking import Place
from engine.config import RunConfig
from engine.errors import StarboardError
from engine.policies.loading import compute_in, context_limit, load_model, load_tokenizer, stop_token_ids_of
from engine.policies.weight_sums import WeightSum, held_sums
from engine.rollout.agent_proxy import AgentProxy, ResponseSampler
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.types import Trajectory
from engine.training.token_values import sequence_logprobs

if TYPE_CHECKING:
    from engine.policies.vllm_engine import VllmEngine


class Host(Protocol):
    """A model that samples."""

    context_tokens: int

    def sampler(self, rows: int, *, stops: set[int], temperature: float, seeds: list[int]) -> ResponseSampler: ...

    def load(self, weights: Mapping[str, Tensor]) -> None: ...

    def held(self) -> dict[str, WeightSum]: ...

    def score(self, sequences: list[list[int]]) -> list[list[float]]: ...


class TorchHost:
    def __init__(self, config: RunConfig) -> None:
        self.model, _ = load_model(config.model.path, device=device())
        compute_in(self.model, config.optimizer.precision)
        self.context_tokens = context_limit(self.model, config.rollout.max_context_tokens)

    def sampler(self, rows: int, *, stops: set[int], temperature: float, seeds: list[int]) -> ResponseSampler:
        from engine.policies.batched_sampler import BatchedSampler

        return BatchedSampler(self.model, rows=rows, stop_ids=stops, temperature=temperature, seeds=seeds)

    def load(self, weights: Mapping[str, Tensor]) -> None:
        # a head that is its embedding comes once
        self.model.load_state_dict(dict(weights), strict=not self.model.config.tie_word_embeddings)

    def held(self) -> dict[str, WeightSum]:
        return held_sums(self.model.parameters())

    def score(self, sequences: list[list[int]]) -> list[list[float]]:
        return [sequence_logprobs(self.model, ids) for ids in sequences]


class VllmHost:
    def __init__(self, config: RunConfig, rows: int, transfer: str) -> None:
        from engine.policies.vllm_engine import VllmEngine

        cluster = config.cluster
        self.engine = VllmEngine(
            config.model.path,
            max_context_tokens=config.rollout.max_context_tokens,
            rows=min(rows, 256),
            tensor_parallel=cluster.tensor_parallel,
            memory_share=cluster.memory_share,
            seed=config.seed,
            dtype=config.optimizer.precision,
            transfer=transfer,
        )
        self.context_tokens = self.engine.context_tokens

    def sampler(self, rows: int, *, stops: set[int], temperature: float, seeds: list[int]) -> ResponseSampler:
        from engine.policies.vllm_sampler import VllmSampler

        return VllmSampler(self.engine, rows=rows, stop_ids=stops, temperature=temperature, seeds=seeds)

    def load(self, weights: Mapping[str, Tensor]) -> None:
        self.engine.load_weights(weights.items())

    def held(self) -> dict[str, WeightSum]:
        return self.engine.held_sums()

    def score(self, sequences: list[list[int]]) -> list[list[float]]:
        return self.engine.score(sequences)


class SamplerActor:
    host: Host

    def __init__(
        self, config: str, *, name: str, stacks: str, threads: int, gpu: bool, rows: int, transfer: str
    ) -> None:
        set_up(name, Path(stacks), gpu=gpu)
        use_threads(threads)
        self.config = RunConfig.model_validate_json(config)
        self.rows, self.transfer = rows, transfer

    def open(self) -> None:
        """Loads the model. Not when the actor is made: of what fails there Ray tells only that the actor is gone."""
        path = self.config.model.path
        self.host = (
            TorchHost(self.config)
            if self.config.cluster.sampler == "torch"
            else VllmHost(self.config, self.rows, self.transfer)
        )
        think, stops = self.config.rollout.think, stop_token_ids_of(path)
        self.context = ContextManager(load_tokenizer(path), think=think, stops=stops)
        self.proxy = AgentProxy.of(self.config.rollout, self.context, max_context_tokens=self.host.context_tokens)

    def place(self) -> Place:
        return place()

    def gpus(self) -> dict[str, float]:
        """What it used of its GPU since it was asked before."""
        return gpu_use()

    def play(
        self, specs: list[EpisodeSpec], *, temperature: float, seeds: list[int], stages: Stages | None = None
    ) -> tuple[list[Trajectory], int, StarboardError | None]:
        """Trajectories, sampled tokens, and why none of them is of use, if none is."""
        sampler: Any = self.host.sampler(len(specs), stops=self.context.stop_ids, temperature=temperature, seeds=seeds)
        players = self.proxy.players(specs)
        refusal = self.proxy.play_out(sampler, players, crew=Actors(stages) if stages is not None else None)
        return [player.trajectory for player in players], sampler.sampled_tokens, refusal

    def load(self, weights: Mapping[str, Tensor]) -> float:
        """Takes the learner's weights; returns the seconds that it took."""
        began = time.monotonic()
        self.host.load(weights)
        return time.monotonic() - began

    def held(self) -> dict[str, WeightSum]:
        """Checksums of its weights, to be compared with what was sent; see `agree`."""
        return self.host.held()

    def score(self, sequences: list[list[int]]) -> list[list[float]]:
        return self.host.score(sequences)

    def join_transfer(self, link: dict[str, Any]) -> None:
        self._vllm().join_transfer(link)

    def leave_transfer(self) -> None:
        self._vllm().leave_transfer()

    def start_update(self) -> None:
        self._vllm().start_update()

    def take_update(self, part: dict[str, Any]) -> None:
        self._vllm().take_update(part)

    def finish_update(self) -> None:
        self._vllm().finish_update()

    def _vllm(self) -> VllmEngine:
        if not isinstance(self.host, VllmHost):
            raise TypeError("Only vLLM has a weight transfer of its own.")
        return self.host.engine

    def sleep(self) -> None:
        """Gives its GPU to whoever shares it."""
        engine = getattr(self.host, "engine", None)
        if engine is not None and engine.can_sleep:
            engine.sleep()

    def wake(self) -> None:
        engine = getattr(self.host, "engine", None)
        if engine is not None and engine.can_sleep:
            engine.wake()
