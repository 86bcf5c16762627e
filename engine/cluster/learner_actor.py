"""One learner process: a shard of the policy, its optimiser, and the critic's if there is one."""

from __future__ import annotations

import gc
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from engine.cluster.actor_device import device, use_threads
from engine.cluster.actor_setup import place, set_up
from engine.cluster.connection import import_ray
from engine.cluster.gpu_use import gpu_use
from engine.cluster.looking import Place
from engine.cluster.weight_sender import open_ipc, open_nccl
from engine.config import RunConfig
from engine.diagnostics.cross_scores import Pairs, cross_score
from engine.policies.loading import load_model
from engine.policies.policy_weights import PolicyWeights, whole_state
from engine.policies.weight_sums import WeightSum, WeightSums
from engine.rollout.batching import Batch
from engine.training import checkpoint
from engine.training.checkpoint import Progress
from engine.training.gradient_probe import gradient_metrics
from engine.training.learner import trainable_parameters
from engine.training.sharding import Alone, Sharded, Share
from engine.training.step_update import learn
from engine.training.token_values import sequence_logprobs


class LearnerActor:
    """All of them get the same calls; what they return is the first one's, and nothing of the others."""

    def __init__(self, config: str, rank: int, size: int, *, name: str, stacks: str, threads: int, gpu: bool) -> None:
        set_up(name, Path(stacks), gpu=gpu)
        use_threads(threads)
        self.config = RunConfig.model_validate_json(config)
        self.rank, self.size = rank, size
        self.device = device()
        self.sender: Any = None  # this end of vLLM's weight transfer, where that is used
        self.sums = WeightSums()  # of what was sent last

    def place(self) -> Place:
        return place()

    def gpus(self) -> dict[str, float]:
        """What it used of its GPU since it was asked before."""
        return gpu_use()

    def address(self) -> str:
        """Where the other learners meet this one."""
        host, port = self.meeting()
        return f"tcp://{host}:{port}"

    def meeting(self) -> tuple[str, int]:
        """Host, as the cluster's nodes reach it, and a port that is free."""
        with socket.socket() as free:
            free.bind(("", 0))
            port = free.getsockname()[1]
        return str(import_ray().util.get_node_ip_address()), port

    def open(self, address: str, found: str, minutes: float) -> dict[str, Any]:
        """Joins the others and loads the model, from the checkpoint `found` where one is named."""
        torch.manual_seed(self.config.seed)
        share: Share = Alone()
        if self.size > 1:
            # weights are on GPUs, and what is found of a batch on the CPU; both are added up
            kind = "cpu:gloo,cuda:nccl" if self.device == "cuda" else "gloo"
            limit = timedelta(minutes=minutes)
            dist.init_process_group(kind, init_method=address, rank=self.rank, world_size=self.size, timeout=limit)
            share = Sharded()
        source = Path(found) if found else None
        notes: list[str] = []
        self.tokenizer, self.learner, progress = checkpoint.load_learner(
            self.config, source, device=self.device, share=share, tell=notes.append
        )
        model = self.learner.model
        self.mold: Any = None  # a whole model on the CPU, which shards are poured into where only that can be saved
        if notes and self.rank == 0:
            self.mold = load_model(self.config.model.path)[0]
        return {
            "progress": progress,
            "notes": notes,
            "device": self.device,
            "parameters": sum(weight.numel() for weight in model.parameters()),
            "trainable_parameters": sum(weight.numel() for weight in trainable_parameters(model)),
        }

    def change(self, config: str) -> None:
        """Other settings from the next update on."""
        self.config = self.learner.config = RunConfig.model_validate_json(config)

    def adopt(self, learned: str) -> None:
        """The optimiser's and critic's state of another run's checkpoint."""
        checkpoint.adopt(Path(learned), self.learner)

    def learn(self, batch: Batch, *, step: int, scale: float) -> tuple[Tensor, dict[str, float]] | None:
        advantages, metrics = learn(self.learner, batch, step=step, scale=scale)
        return (advantages.cpu(), metrics) if self.rank == 0 else None

    def score(self, batch: Batch) -> tuple[Tensor, Tensor] | None:
        """Log-probabilities and entropies of sampled tokens, `(B, T)` each."""
        found = self.learner.score(batch)
        return (found[0].cpu(), found[1].cpu()) if self.rank == 0 else None

    def gradients(self, batch: Batch, *, scale: float) -> dict[str, float] | None:
        found = gradient_metrics(self.learner, batch, self.config, scale=scale)
        return found if self.rank == 0 else None

    def cross_scores(self, pairs: Pairs) -> Tensor | None:
        found = cross_score(
            self.learner.model, pairs.prompts, pairs.thoughts, temperature=self.config.rollout.temperature
        )
        return found.cpu() if self.rank == 0 else None

    def rest(self) -> None:
        """Gives back GPU memory that nothing is in: torch would keep all that an update once took, and a sampler that
        wakes on the same GPU needs it."""
        if self.device == "cuda":
            gc.collect()
            torch.cuda.empty_cache()

    def probe(self, sequences: list[list[int]]) -> list[list[float]] | None:
        """What a sampler that holds these weights must find as well."""
        found = [sequence_logprobs(self.learner.model, ids) for ids in sequences]
        return found if self.rank == 0 else None

    def weights(self) -> dict[str, Tensor] | None:
        """All of the policy's weights, an adapter's update added in, for the samplers."""
        self.sums = WeightSums()
        state = whole_state(self.learner.model, self._count)
        held = {name: weight.cpu() for name, weight in state if self.rank == 0}
        return held if self.rank == 0 else None

    def sent(self) -> dict[str, WeightSum] | None:
        """What the samplers must hold since weights were last sent."""
        return self.sums.total() if self.rank == 0 else None

    def _count(self, name: str, weight: Tensor) -> None:
        if self.rank == 0:
            self.sums.add(name, weight)

    def manifest(self) -> dict[str, Any]:
        """Of the weights that `send_weights` sends: names, types and shapes."""
        return self._outgoing().manifest()

    def open_nccl(self, link: dict[str, Any]) -> None:
        """All samplers join at the same time."""
        self.close_sender()
        self.sender = open_nccl(self._outgoing(), rank=self.rank, link=link)

    def open_ipc(self, samplers: list[Any]) -> None:
        self.close_sender()
        self.sender = open_ipc(self._outgoing(), rank=self.rank, samplers=samplers)

    def close_sender(self) -> None:
        if self.sender is not None:
            self.sender.shutdown()
            self.sender = None

    def send_weights(self) -> None:
        """To samplers that have joined; all learners call it."""
        if self.device == "cuda":
            torch.cuda.synchronize()  # vLLM packs on streams of its own, which do not wait for the last update
        self.sums = WeightSums()
        with torch.no_grad():
            self.sender.send_weights()

    def _outgoing(self) -> PolicyWeights:
        """In what the policy computes in, which is what vLLM chose for its own."""
        return PolicyWeights(self.learner.model, self.learner.model.base_model.computes_in, self._count)

    def save(self, directory: str, progress: Progress) -> str:
        given = (self.tokenizer, self.learner, progress)
        if self.size == 1:
            return str(checkpoint.save(Path(directory), self.learner.model, *given))
        return str(checkpoint.save_sharded(Path(directory), *given, mold=self.mold))
