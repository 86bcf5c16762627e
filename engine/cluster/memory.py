"""The memory that one sampler and one learner need on a device, calculated before anything is loaded.

Weights, gradients and the optimiser's state are exact for a model whose safetensors are on this machine. Activations
follow from what autograd saves of a gated decoder (`activation_bytes`); they and vLLM's working memory are estimates.
No torch and no Ray: the launch form uses it.

Not counted: the CUDA context and libraries (about half a GiB of each process), CUDA graphs, fragmentation, and
attention that keeps its scores, as PyTorch does in float32 on a GPU where queries outnumber keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from engine.config import RunConfig
from engine.config.learning import LOGITS_AT_ONCE, ON_A_CPU, ON_A_GPU
from engine.policies.model_shape import FILE_BYTES, ModelShape, Sizes

FLOAT, HALF = 4, 2  # bytes
MOMENTS = 2  # of AdamW
VLLM_ROWS = 256  # decoded at once by one vLLM sampler
VLLM_BATCH = 2048  # tokens of one forward pass, vLLM's default
CPU_BLOCK = 32  # tokens of a block of vLLM's cache on a CPU
CACHE_COLUMNS = 128  # by which the cache of our own sampler grows
PREFILL_TOKENS = 16384
WHEN_SHARDED = "to save the sharded model and to send its weights"
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerMemory:
    """Bytes on the device of one learner, except `host`: main memory on the machine of the first learner."""

    weights: int
    gradients: int
    moments: int
    reference: int
    critic: int  # its weights and moments
    activations: int
    gathered: int
    stepping: int
    loading: int
    host: int

    @property
    def lasting(self) -> int:
        """Held from the first update on, also between updates."""
        return self.weights + self.moments + self.reference + self.critic

    @property
    def certain(self) -> int:
        """The least that works, however small the micro-batch is."""
        return max(self.lasting + self.gradients, self.loading)

    @property
    def total(self) -> int:
        """The peak: in the backward pass, in the optimiser's step, or while loading."""
        return max(self.lasting + self.gradients + max(self.activations + self.gathered, self.stepping), self.loading)

    def parts(self) -> list[tuple[str, int]]:
        named = [
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("AdamW's two moments", self.moments),
            ("the reference model", self.reference),
            ("the critic", self.critic),
            ("activations", self.activations),
            ("gathered weights", self.gathered),
        ]
        return [(name, size) for name, size in named if size]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerMemory:
    """Bytes on each device of one sampler; `sequence` is the part of `cache` that one full context takes."""

    weights: int
    cache: int
    work: int
    sequence: int

    @property
    def certain(self) -> int:
        """The least that works, however few rows there are."""
        return self.weights + self.sequence

    @property
    def total(self) -> int:
        return self.weights + self.cache + self.work

    def parts(self) -> list[tuple[str, int]]:
        return [("weights", self.weights), ("cache", self.cache), ("work", self.work)]


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
            found.append(
                "That is while loading: the model's files cannot be read in parts, so each learner loads all of it."
            )
        if self.learner.host:
            whose, when = ("Its", "for the whole model") if self.learners == 1 else ("The first one's", WHEN_SHARDED)
            found.append(f"{whose} machine needs {format_bytes(self.learner.host)} more, {when}.")
        return found


def estimate(config: RunConfig, shape: ModelShape, *, gpu: bool) -> MemoryEstimate:
    """What `config` would need with the ray backend; `gpu`: whether samplers and learners have GPUs."""
    rollout, optimizer, cluster = config.rollout, config.optimizer, config.cluster
    context = min(rollout.max_context_tokens, shape.positions or rollout.max_context_tokens)
    half = optimizer.precision == "bfloat16" or (optimizer.precision == "auto" and gpu)
    trajectories = rollout.groups * rollout.group_size
    rows = -(-trajectories // cluster.samplers)
    turns = max(environment.max_turns for environment in config.environments)
    longest = context if rollout.context.type == "full" else context * turns
    tokens = max(longest, optimizer.micro_batch_tokens or (ON_A_GPU if gpu else ON_A_CPU))
    tokens = min(tokens, longest * -(-trajectories // optimizer.updates_per_step))
    if cluster.sampler == "vllm":
        rows = min(rows, VLLM_ROWS)
        sampler = vllm_memory(
            shape, context=context, rows=rows, half=half, tensor_parallel=cluster.tensor_parallel, gpu=gpu
        )
    else:
        held_out = max(config.evaluation.episodes, config.evaluation.final_episodes)
        rows = max(rows, -(-held_out // cluster.samplers))
        sampler = torch_memory(shape, context=context, rows=rows)
    learner = learner_memory(
        shape,
        tokens=tokens,
        sampled=round(tokens * sampled_share(config, context)),
        half=half,
        lora_rank=config.model.lora.rank,
        lora_targets=config.model.lora.targets,
        critic=config.algorithm.critic_settings is not None,
        reference=config.needs_reference,
        checkpointing=optimizer.gradient_checkpointing,
        learners=cluster.learners,
        gpu=gpu,
        sends_weights=_by_object_store(config, gpu=gpu),
    )
    return MemoryEstimate(
        sampler=sampler,
        learner=learner,
        samplers=cluster.samplers,
        learners=cluster.learners,
        tokens=tokens,
        rows=rows,
        context=context,
        gpu=gpu,
    )


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


def learner_memory(
    shape: ModelShape,
    *,
    tokens: int,
    sampled: int,
    half: bool = False,
    lora_rank: int = 0,
    lora_targets: str = "all-linear",
    critic: bool = False,
    reference: bool = False,
    checkpointing: bool = False,
    learners: int = 1,
    gpu: bool = False,
    sends_weights: bool = True,
) -> LearnerMemory:
    """One of `learners` learners. `tokens` go through the model at once, `sampled` of them with a log-probability.

    - Weights, gradients and AdamW's two moments are float32 of the parameters that train, 4 + 4 + 8 bytes each; with
      LoRA the frozen ones are 4 bytes each and the adapter trains. A single learner that computes in bfloat16 keeps
      frozen matrices in it, 2 bytes each (`engine.policies.frozen_weights`). FSDP2 gives each learner an even part of
      every weight's first axis, rounded up (`fully_shard` of PyTorch's documentation); an embedding that is also the
      head stays whole, as `engine.training.sharding` has it.
    - A reference is a second model without gradients; under LoRA it is the policy without its adapter and costs
      nothing.
    - A critic is a second body with its moments, and a head. It is updated before the policy, so the two never have
      gradients at the same time.
    - On a GPU, AdamW works on all weights at once and needs 4 bytes more for each ("foreach" of `torch.optim.AdamW`).
    - While a layer computes, its weights and gradients, the next layer's and the embedding's are gathered.
    - Of several learners each reads its own part of every model. Where the files do not allow that (`in_parts`), it
      loads before it shards: the whole policy, and the whole reference or critic too.
    - Main memory holds, with one learner and a GPU, the model while it loads. With several learners the first holds one
      file's worth of what they save; all weights, and once more in Ray's object store, where that sends them
      (`sends_weights`); and a whole model to save from where the files cannot be read in parts.
    """
    base = dict(shape.weights)
    added = _adapters(shape, lora_rank, lora_targets)
    body = dict(shape.body)
    trained = added or base
    trained_body = added or body
    whole = set(shape.embedding) if shape.tied else set()
    value_head = (shape.hidden + 1) * FLOAT

    def part(weights: Mapping[str, Sizes], *, tied: bool = True) -> int:
        return FLOAT * sum(shard(size, 1 if tied and name in whole else learners) for name, size in weights.items())

    everything = FLOAT * _count([*base.values(), *added.values()])
    copied = FLOAT * _count([*body.values(), *added.values()]) + value_head
    halved = HALF * _count(shape.matrices.values()) if half and learners == 1 else 0
    halved_base = halved if lora_rank else 0
    own_reference = part(base) - halved if reference and not lora_rank else 0
    of_critic = part({**body, **added}, tied=False) - halved_base + value_head
    critic_moments = MOMENTS * (part(trained_body, tied=False) + value_head)
    gathered_state = MOMENTS * FLOAT * _count(trained.values())
    if critic:
        gathered_state += MOMENTS * (FLOAT * _count(trained_body.values()) + value_head) + copied
    several = learners > 1 and shape.in_parts
    of_all = part({**base, **added}) - halved_base
    largest = FLOAT * max(map(prod, base.values()), default=0)
    whole_ones = max(everything if reference and not lora_rank else 0, own_reference + copied if critic else 0)
    saved = min(max(everything, gathered_state), FILE_BYTES + largest)
    export_model = 0 if shape.in_parts else everything
    return LearnerMemory(
        weights=of_all,
        gradients=max(part(trained), part(trained_body, tied=False) + value_head if critic else 0),
        moments=MOMENTS * part(trained),
        reference=own_reference,
        critic=of_critic + critic_moments if critic else 0,
        activations=activation_bytes(
            shape, tokens=tokens, sampled=sampled, half=half, checkpointing=checkpointing, rounded=not halved_base
        ),
        gathered=_gathered(shape) if learners > 1 else 0,
        stepping=part(trained) if gpu else 0,
        loading=of_all + own_reference + (of_critic if critic else 0) if several else everything + whole_ones,
        host=(everything if gpu else 0) if learners == 1 else export_model + max(saved, 2 * everything * sends_weights),
    )


def activation_bytes(
    shape: ModelShape,
    *,
    tokens: int,
    sampled: int,
    half: bool = False,
    checkpointing: bool = False,
    rounded: bool = True,
) -> int:
    """What autograd saves of one micro-batch for the backward pass, at most, in a gated decoder such as Qwen2 or Llama.

    With hidden size D, inner size I, and query and key sizes q and k over all heads, it saves for each token and layer

    - of both norms the input and the normalised input: 4 D float32,
    - the inputs of the linear layers: in float32 one D for queries, keys and values and one for gate and up; in
      bfloat16 `autocast` makes a copy for each of the five,
    - queries and the attention's output, keys and values: 2 q + 2 k,
    - gate, its activation, up and their product: 4 I,
    - the attention's and both norms' scales, (heads + 2) float32,

    which for float32 is what PyTorch 2.13 saves, to the byte. Attention saves no scores (FlashAttention,
    arXiv 2205.14135). Recomputing activations leaves D float32 of each token and layer, and all of one layer (Chen et
    al., arXiv 1604.06174). In bfloat16 autograd also saves a `rounded` copy of each float32 matrix, half its size and
    not sharded; with recomputed activations, of one layer at a time. For the head see `head_bytes`.
    """
    size = HALF if half else FLOAT
    queries, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
    inputs = (5 if half else 2) * shape.hidden
    layer = tokens * (
        FLOAT * (4 * shape.hidden + shape.heads + 2) + size * (inputs + 2 * queries + 2 * keys + 4 * shape.intermediate)
    )
    last = tokens * FLOAT * 3 * shape.hidden + sampled * FLOAT * shape.hidden
    head = head_bytes(shape, sampled=sampled)
    copies = HALF * _count(shape.matrices.values()) if half and rounded else 0
    if checkpointing:
        return shape.layers * tokens * FLOAT * shape.hidden + last + max(head, layer + copies // shape.layers)
    return shape.layers * layer + last + head + copies


def head_bytes(shape: ModelShape, *, sampled: int) -> int:
    """The head's logits and what the backward pass computes of them, at most.

    Log-probabilities and probabilities of all V tokens of the vocabulary for each sampled token, and three more tensors
    of that size in the backward pass: 5 V float32. They are held for as many tokens as have `LOGITS_AT_ONCE` logits
    (`engine.policies.token_scores`); the head's gradient from one such chunk is added to that of the others.
    """
    most = max(1, LOGITS_AT_ONCE // shape.vocabulary)
    summand = shape.hidden * shape.vocabulary if sampled > most else 0
    return FLOAT * (5 * min(sampled, most) * shape.vocabulary + summand)


def vllm_memory(
    shape: ModelShape, *, context: int, rows: int, half: bool, tensor_parallel: int = 1, gpu: bool = False
) -> SamplerMemory:
    """One vLLM sampler, on each of its `tensor_parallel` GPUs.

    Weights are split evenly. Keys and values of a token are 2 x layers x heads x head size numbers (Kwon et al.,
    arXiv 2309.06180); heads are split too, with at least one on each GPU. The cache is sized for all `rows` at
    once; a smaller one works, with some of them queued. Working memory is that of one forward pass and of three
    tensors of rows x vocabulary in float32; vLLM measures its own when it starts.
    """
    size = HALF if half else FLOAT
    kv_heads = max(1, shape.kv_heads // tensor_parallel)
    token = 2 * shape.layers * kv_heads * shape.head_size * size
    blocks = -(-context // CPU_BLOCK)
    batch = VLLM_BATCH if gpu else max(context, 2 * VLLM_BATCH, rows)
    wide = 6 * shape.hidden + 4 * -(-shape.intermediate // tensor_parallel)
    return SamplerMemory(
        weights=-(-shape.parameters // tensor_parallel) * size,
        cache=(rows * blocks + 1) * CPU_BLOCK * token,
        work=batch * wide * size + 3 * rows * shape.vocabulary * FLOAT,
        sequence=context * token,
    )


def torch_memory(shape: ModelShape, *, context: int, rows: int) -> SamplerMemory:
    """Our own sampler, in float32: a cache for all `rows`, extended by 128 tokens at a time, and for each row the
    logits, log-probabilities and probabilities of the vocabulary and their cumulative sum in double precision."""
    token = 2 * shape.layers * shape.kv_heads * shape.head_size * FLOAT
    columns = -(-context // CACHE_COLUMNS) * CACHE_COLUMNS
    wide = 6 * shape.hidden + 4 * shape.intermediate
    return SamplerMemory(
        weights=shape.parameters * FLOAT,
        cache=rows * columns * token,
        work=min(PREFILL_TOKENS, rows * context) * wide * FLOAT + rows * shape.vocabulary * (3 * FLOAT + 8),
        sequence=columns * token,
    )


def shard(size: Sizes, learners: int) -> int:
    """The most numbers of a weight that one of `learners` holds: the first axis is split."""
    first, *rest = size or (1,)
    return -(-first // learners) * prod(rest)


def _gathered(shape: ModelShape) -> int:
    root = 0 if shape.tied else _count(shape.embedding.values())
    head = _count(size for name, size in shape.weights.items() if name not in shape.body)
    return FLOAT * (root + max(4 * shape.largest_layer, 2 * head))


def _adapters(shape: ModelShape, rank: int, targets: str) -> dict[str, Sizes]:
    """The two matrices of LoRA for each adapted linear layer `(out, in)`: `(rank, in)`, `(out, rank)`."""
    if not rank:
        return {}
    targeted = None if targets == "all-linear" else set(targets.replace(" ", "").split(","))
    found: dict[str, Sizes] = {}
    for name, (out, into) in shape.matrices.items():
        layer = name.removesuffix(".weight")
        if targeted is None or layer.rpartition(".")[2] in targeted:
            found |= {f"{layer}.lora_A": (rank, into), f"{layer}.lora_B": (out, rank)}
    return found


def _count(sizes: Iterable[Sizes]) -> int:
    return sum(prod(size) for size in sizes)


def format_bytes(size: float) -> str:
    """Bytes in the unit that leaves one to four digits: `713 bytes`, `12.4 GiB`."""
    for unit in UNITS:
        if size < 1024 or unit == UNITS[-1]:
            break
        size /= 1024
    return f"{size:.0f} {unit}" if size >= 100 or unit == "bytes" else f"{size:.1f} {unit}"


def listed(parts: list[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {format_bytes(size)}" for name, size in parts)


def _each(count: int, what: str) -> str:
    return f"The {what}" if count == 1 else f"Each of {count} {what}s"
