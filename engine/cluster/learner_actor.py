"""One learner process: a shard of the policy, its optimiser, and the critic's if there is one."""

from __future__ import annotations

import gc
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any

from engine.quick_imports import quick_imports

with quick_imports():
    import torch
    import torch.distributed as dist
    from torch import Tensor

    from engine.cluster.actor_process import device, gpu_metrics, location, set_up, use_threads
    from engine.cluster.connection import import_ray
    from engine.cluster.forward_tokens import with_tokens
    from engine.cluster.learner_room import Free
    from engine.cluster.weight_sender import open_ipc, open_nccl
    from engine.config import RunConfig
    from engine.diagnostics.cross_scores import Pairs, cross_score
    from engine.policies.loading import load_model
    from engine.policies.policy_weights import PolicyWeights, whole_state
    from engine.policies.weight_checksums import SentChecksums, WeightChecksum
    from engine.process_snapshots import ActorLocation
    from engine.rollout.batching import Batch
    from engine.training import checkpoint
    from engine.training.background_save import BackgroundSaves, BackgroundShardSaves, Write
    from engine.training.checkpoint_state import LiveState, Progress
    from engine.training.forward_size import free_on_device
    from engine.training.gradient_probe import gradient_metrics
    from engine.training.learner import trainable_parameters
    from engine.training.sharded_state import LiveShards
    from engine.training.sharding import Alone, Sharded, Share
    from engine.training.step_update import update
    from engine.training.token_values import sequence_logprobs


class LearnerActor:
    """All learners get the same calls. The first one returns the result, the others None."""

    def __init__(self, config: str, rank: int, size: int, *, name: str, stacks: str, threads: int, gpu: bool) -> None:
        set_up(name, Path(stacks), gpu=gpu)
        use_threads(threads)
        self.config = RunConfig.model_validate_json(config)
        self.rank, self.size = rank, size
        self.device = device()
        self.sender: Any = None  # this end of vLLM's weight transfer, if it is used
        self.sums = SentChecksums()  # of the weights that were sent last

    def location(self) -> ActorLocation:
        return location()

    def gpu_metrics(self) -> dict[str, float]:
        """Its use of its GPU since the last call."""
        return gpu_metrics()

    def rendezvous_address(self) -> str:
        """For torch.distributed: the other learners connect to this one."""
        host, port = self.host_and_port()
        return f"tcp://{host}:{port}"

    def host_and_port(self) -> tuple[str, int]:
        """The host, as the cluster's nodes reach it, and a free port."""
        with socket.socket() as free:
            free.bind(("", 0))
            port = free.getsockname()[1]
        return str(import_ray().util.get_node_ip_address()), port

    def free(self) -> Free:
        gpu = self.device == "cuda"
        return Free(machine=location().node, bytes=free_on_device(gpu=gpu), gpu=gpu)

    def open(self, address: str, found: str, minutes: float, tokens: int = 0) -> dict[str, Any]:
        """Joins the other learners and loads the model, from the checkpoint `found` if it is not empty. `tokens` go
        through it at once, where that is not 0."""
        if tokens:
            self.config = with_tokens(self.config, tokens)
        torch.manual_seed(self.config.seed)
        share: Share = Alone()
        if self.size > 1:
            # weights are reduced on GPUs, and the results of a batch on the CPU
            kind = "cpu:gloo,cuda:nccl" if self.device == "cuda" else "gloo"
            limit = timedelta(minutes=minutes)
            dist.init_process_group(kind, init_method=address, rank=self.rank, world_size=self.size, timeout=limit)
            share = Sharded()
        source = Path(found) if found else None
        notes: list[str] = []
        self.tokenizer, self.learner, progress = checkpoint.load_learner(
            self.config, source, device=self.device, share=share, warn=notes.append
        )
        model = self.learner.model
        self.export_model: Any = None  # a whole model on the CPU to save from, where shards cannot be saved directly
        if notes and self.rank == 0:
            chosen = self.config.model
            self.export_model = load_model(chosen.versioned_path, chat_template=chosen.chat_template)[0]
        self.write: Write | None = None
        self.background = self._background_saves(patience=timedelta(minutes=minutes))
        return {
            "progress": progress,
            "notes": notes,
            "device": self.device,
            "parameters": sum(weight.numel() for weight in model.parameters()),
            "trainable_parameters": sum(weight.numel() for weight in trainable_parameters(model)),
        }

    def set_config(self, config: str) -> None:
        """Changed settings, from the next update on."""
        self.config = self.learner.config = RunConfig.model_validate_json(config)

    def warm_start(self, path: str) -> None:
        """Loads the optimiser's and critic's state of another run's checkpoint."""
        checkpoint.warm_start(Path(path), self.learner)

    def swap_weights(self) -> None:
        """Exchanges the weights with their moving average."""
        self.learner.swap_weights()

    def update(
        self, batch: Batch, *, step: int, scale: float, tokens: int | None = None
    ) -> tuple[Tensor, dict[str, float]] | None:
        advantages, metrics = update(self.learner, batch, step=step, scale=scale, tokens=tokens)
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

    def free_cached_memory(self) -> None:
        """Returns unused GPU memory: torch caches what an update once allocated, and a sampler that wakes on the same
        GPU needs it."""
        if self.device == "cuda":
            gc.collect()
            torch.cuda.empty_cache()

    def probe_logprobs(self, sequences: list[list[int]]) -> list[list[float]] | None:
        """Log-probabilities that a sampler with the same weights must compute too."""
        found = [sequence_logprobs(self.learner.model, ids) for ids in sequences]
        return found if self.rank == 0 else None

    def weights(self) -> dict[str, Tensor] | None:
        """All weights of the policy for the samplers, with an adapter merged."""
        self.sums = SentChecksums()
        state = whole_state(self.learner.model, self._count)
        held = {name: weight.cpu() for name, weight in state if self.rank == 0}
        return held if self.rank == 0 else None

    def sent_checksums(self) -> dict[str, WeightChecksum] | None:
        """Checksums of the weights that were sent last, which the samplers must hold."""
        return self.sums.total() if self.rank == 0 else None

    def _count(self, name: str, weight: Tensor) -> None:
        if self.rank == 0:
            self.sums.add(name, weight)

    def manifest(self) -> dict[str, Any]:
        """Names, types and shapes of the weights that `send_weights` sends."""
        return self._outgoing().manifest()

    def open_nccl(self, link: dict[str, Any]) -> None:
        """The samplers join at the same time."""
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
        """To the samplers that have joined; every learner takes part."""
        if self.device == "cuda":
            torch.cuda.synchronize()  # vLLM packs on its own streams, which do not wait for the last update
        self.sums = SentChecksums()
        with torch.no_grad():
            self.sender.send_weights()

    def _outgoing(self) -> PolicyWeights:
        """In the precision that the policy computes in, which vLLM uses too."""
        return PolicyWeights(self.learner.model, self.learner.model.base_model.computes_in, self._count)

    def _background_saves(self, *, patience: timedelta) -> BackgroundSaves:
        if self.size == 1:
            return BackgroundSaves(self.learner, self.tokenizer)
        return BackgroundShardSaves(self.learner, self.tokenizer, export_model=self.export_model, patience=patience)

    def save(self, directory: str, progress: Progress) -> str:
        folder, tokenizer = Path(directory), self.tokenizer
        if self.size == 1:
            return str(checkpoint.save(folder, tokenizer, LiveState(self.learner, progress)))
        state = LiveShards(self.learner, progress)
        return str(checkpoint.save_sharded(folder, tokenizer, state, export_model=self.export_model))

    def start_save(self, directory: str, progress: Progress) -> bool:
        """Whether a copy is being written; False if `save` is to be called."""
        self.write = self.background.start(Path(directory), progress)
        return self.write is not None

    def save_done(self) -> bool:
        return self.write is None or self.write.done()

    def finish_save(self) -> str:
        """Waits for what `start_save` began; after an error another call writes again."""
        if self.write is None:
            raise ValueError("No checkpoint is being written.")
        path = str(self.write.result())
        self.write = None  # and with it the copy
        return path
