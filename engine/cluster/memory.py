"""The memory that one sampler and one learner need on a device, calculated before anything is loaded.

Weights, gradients and the optimiser's state are exact for a model whose safetensors are on this machine. Activations
follow from what autograd saves of each layer (`engine.cluster.layer_memory`); they and vLLM's working memory are
estimates. No torch and no Ray: the launch form uses it.

Not counted: the CUDA context and libraries (about half a GiB of each process), CUDA graphs, fragmentation, and
attention that keeps its scores, as PyTorch does in float32 on a GPU where queries outnumber keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.cluster.byte_units import PROCESS_BYTES, format_bytes, listed
from engine.cluster.learner_memory import LearnerMemory, learner_memory
from engine.cluster.sampler_memory import SamplerMemory, torch_memory, vllm_memory
from engine.config import RunConfig
from engine.config.learning import ON_A_CPU, ON_A_GPU
from engine.errors import ModelError
from engine.policies.adapter_files import read_adapter
from engine.policies.model_shape import ModelShape

ASLEEP = 2**30  # bytes of a sleeping vLLM process on its GPU, rounded up
VLLM_ROWS = 256  # decoded at once by one vLLM sampler
WHILE_LOADING = {
    False: "That is while loading: in float32, before the frozen weights are rounded.",
    True: "That is while loading: the model's files cannot be read in parts, so each learner loads all of it.",
}
WHEN_ALONE = "for the model while it loads, the copy that a checkpoint is written from, and weights that are sent"
WHEN_ON_A_CPU = "to send its weights through Ray's object store"
WHEN_SHARDED = "to save the sharded model and to send its weights"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """For a run. `tokens` go through a learner at once, `rows` trajectories of `context` tokens through a sampler."""

    sampler: SamplerMemory
    learner: LearnerMemory
    samplers: int
    learners: int
    tokens: int
    rows: int
    context: int
    gpu: bool

    def sentences(self) -> list[str]:
        where = "of a GPU" if self.gpu else "of memory"
        cache = f"for {self.rows:,} trajectories of {self.context:,} tokens"
        sampler = listed(self.sampler.parts()).replace("cache", f"cache {cache}", 1)
        found = [
            f"{_each(self.samplers, 'sampler')} needs about {format_bytes(self.sampler.total)} {where}: {sampler}.",
            f"{_each(self.learners, 'learner')} needs at most about {format_bytes(self.learner.total)} {where}, with "
            f"{self.tokens:,} tokens at once: {listed(self.learner.parts())}.",
        ]
        if self.learner.loading == self.learner.total:
            found.append(WHILE_LOADING[self.learners > 1])
        if self.learner.host:
            alone = WHEN_ALONE if self.gpu else WHEN_ON_A_CPU
            whose, when = ("Its", alone) if self.learners == 1 else ("The first one's", WHEN_SHARDED)
            found.append(f"{whose} machine needs {format_bytes(self.learner.host)} more, {when}.")
        return found + checkpoint_sentences(self.learner, learners=self.learners)


def estimate(config: RunConfig, shape: ModelShape, *, gpu: bool) -> MemoryEstimate:
    """What `config` would need with the ray backend; `gpu`: whether samplers and learners have GPUs."""
    rollout, optimizer, cluster = config.rollout, config.optimizer, config.cluster
    context = min(rollout.max_context_tokens, shape.positions or rollout.max_context_tokens)
    process = 0 if gpu else PROCESS_BYTES
    half = optimizer.precision == "bfloat16" or (optimizer.precision == "auto" and gpu)
    trajectories = rollout.groups * rollout.group_size
    rows = -(-trajectories // cluster.samplers)
    turns = max(environment.max_turns for environment in config.environments)
    longest = context if rollout.context.type == "full" else context * turns
    tokens = max(longest, optimizer.micro_batch_tokens or (ON_A_GPU if gpu else ON_A_CPU))
    tokens = min(tokens, longest * -(-trajectories // optimizer.updates_per_step))
    if cluster.sampler == "vllm":
        rows = min(rows, rollout.rows_at_once or VLLM_ROWS, VLLM_ROWS)
        sampler = vllm_memory(
            shape, context=context, rows=rows, half=half, tensor_parallel=cluster.tensor_parallel, gpu=gpu
        )
    else:
        held_out = max(config.evaluation.episodes, config.evaluation.final_episodes)
        held_out = min(held_out, config.evaluation.episodes_at_once or held_out)
        rows = max(rows, -(-held_out // cluster.samplers))
        rows = min(rows, rollout.rows_at_once or rows)
        sampler = torch_memory(shape, context=context, rows=rows, turn=-(-longest // turns), half=half)
    learner = learner_memory(
        shape,
        tokens=tokens,
        sampled=round(tokens * sampled_share(config, context)),
        half=half,
        lora_rank=config.model.lora.rank,
        lora_targets=config.model.lora.targets,
        lora_ranks=_ranks_of(config),
        eight_bit=optimizer.moments == "8bit",
        critic=config.algorithm.critic_settings is not None,
        reference=config.needs_reference,
        starts_from_adapter=config.starts_from_adapter,
        average=config.optimizer.ema_decay > 0,
        checkpointing=optimizer.gradient_checkpointing,
        learners=cluster.learners,
        gpu=gpu,
        sends_weights=config.backend == "ray" and _by_object_store(config, gpu=gpu),
        background=config.checkpoint.background,
        loss_terms=_decomposed_terms(config),
        process=process,
        context=longest,
        packing=optimizer.packing,
    )
    return MemoryEstimate(
        sampler=replace(sampler, process=process),
        learner=learner,
        samplers=cluster.samplers,
        learners=cluster.learners,
        tokens=tokens,
        rows=rows,
        context=context,
        gpu=gpu,
    )


def _decomposed_terms(config: RunConfig) -> int:
    """Terms of the loss whose gradients are decomposed: that of the task, and entropy and KL if they have one."""
    if not config.diagnostics.gradients_every:
        return 0
    return 1 + (config.loss.entropy_coefficient != 0) + (config.loss.kl_coefficient != 0)


def _ranks_of(config: RunConfig) -> Mapping[str, int] | None:
    """Of the layers of the adapter that the run trains further; None without one. A directory that has none is reported
    by the checks."""
    if not config.starts_from_adapter or not config.model.lora.rank:
        return None
    try:
        return read_adapter(config.model.adapter).ranks
    except ModelError:
        return None


def held_beside(config: RunConfig, memory: MemoryEstimate) -> int:
    """Bytes of a GPU that a sampler on it keeps from the learner while that trains. Our own sampler does not sleep; of
    one of vLLM's its process stays, with CUDA's context and libraries."""
    if config.cluster.placement != "colocated" or not memory.gpu:
        return 0
    return memory.sampler.total if config.cluster.sampler == "torch" else ASLEEP


def checkpoint_sentences(learner: LearnerMemory, *, learners: int = 1) -> list[str]:
    """What writing a checkpoint takes, if it is the most, or is used only if it is free."""
    merged = f"That is while a checkpoint is written, with {format_bytes(learner.saving)} of merged weights."
    most = [merged] if learner.saving and learner.total == learner.lasting + learner.saving else []
    if not learner.copy_if_free:
        return most
    copy = "a copy" if learners == 1 else "the copy of each learner"
    return [
        *most,
        f"While a checkpoint is written, training goes on if {format_bytes(learner.copy_if_free)} of main memory are "
        f"free for {copy}.",
    ]


def _by_object_store(config: RunConfig, *, gpu: bool) -> bool:
    try:
        return config.cluster.weight_transfer_method(gpus=gpu) == "object_store"
    except ValueError:  # an impossible choice, which the checks report
        return True


def sampled_share(config: RunConfig, context: int) -> float:
    """The largest share of a micro-batch's tokens that is sampled: that of the longest responses in a full context, but
    at least a half, since trajectories are often shorter than the context."""
    longest = max(environment.max_turns * environment.max_response_tokens for environment in config.environments)
    return min(1.0, max(0.5, longest / context))


def _each(count: int, what: str) -> str:
    return f"The {what}" if count == 1 else f"Each of {count} {what}s"
