"""The memory of one learner: weights, gradients, optimiser state, and what an update takes besides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from engine.cluster.activation_memory import activation_bytes
from engine.cluster.byte_units import FLOAT, HALF, LIBRARIES, count
from engine.cluster.gathered_memory import gathered_bytes
from engine.config.watching import Background
from engine.main_memory import MANY_PARAMETERS
from engine.policies.lora_targets import ALL, is_adapted
from engine.policies.model_shape import FILE_BYTES, HEADS, LAYER, ModelShape, Sizes

MOMENTS = 2  # of AdamW
BLOCK, LEAST = 256, 4096  # of moments in 8 bits: numbers with a scale of their own, and of the smallest such tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerMemory:
    """Bytes on the device of one learner, except `host`: main memory on the machine of the first learner."""

    weights: int
    gradients: int
    moments: int
    average: int  # of the weights
    reference: int
    critic: int  # its weights and moments
    activations: int
    gathered: int
    stepping: int
    loading: int
    host: int
    copy: int = 0  # what a checkpoint is written from in the background
    copy_if_free: int = 0  # the same, in main memory that is otherwise free
    saving: int = 0  # merged weights, between updates
    by_term: int = 0  # gradients of the loss's terms, beside `gradients`
    process: int = 0

    @property
    def lasting(self) -> int:
        """Held from the first update on, also between updates; the copy as long as a checkpoint is being written."""
        own = self.process + self.weights + self.moments + self.average + self.reference + self.critic
        return own + self.copy

    @property
    def certain(self) -> int:
        """The least that works, however small the micro-batch is."""
        return max(self.lasting + self.gradients + self.by_term, self.loading, self.lasting + self.saving)

    @property
    def total(self) -> int:
        """The peak: in the backward pass, in the optimiser's step, while loading, or while a checkpoint is written."""
        passing = self.by_term + self.activations + self.gathered
        learning = self.lasting + self.gradients + max(passing, self.stepping)
        return max(learning, self.loading, self.lasting + self.saving)

    def parts(self) -> list[tuple[str, int]]:
        named = [
            (LIBRARIES, self.process),
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("gradients of each loss term", self.by_term),
            ("AdamW's two moments", self.moments),
            ("the moving average", self.average),
            ("the reference model", self.reference),
            ("the critic", self.critic),
            ("the copy that checkpoints are written from", self.copy),
            ("activations", self.activations),
            ("gathered weights", self.gathered),
        ]
        return [(name, size) for name, size in named if size]


def learner_memory(
    shape: ModelShape,
    *,
    tokens: int,
    sampled: int,
    half: bool = False,
    lora_rank: int = 0,
    lora_targets: str = ALL,
    lora_ranks: Mapping[str, int] | None = None,
    eight_bit: bool = False,
    critic: bool = False,
    reference: bool = False,
    starts_from_adapter: bool = False,
    average: bool = False,
    checkpointing: bool = False,
    learners: int = 1,
    gpu: bool = False,
    sends_weights: bool = True,
    background: Background = "never",
    loss_terms: int = 0,
    process: int = 0,
    context: int = 0,
    packing: bool = False,
) -> LearnerMemory:
    """One of `learners` learners. `tokens` go through the model at once, in sequences of up to `context`, padded or in
    packs (`packing`), `sampled` of them with a log-probability.

    - Weights, gradients and AdamW's two moments are float32 of the parameters that train, 4 + 4 + 8 bytes each; with
      LoRA the frozen ones are 4 bytes each and the adapter trains. A single learner that computes in bfloat16 keeps
      frozen linear layers in it, 2 bytes each (`engine.policies.frozen_weights`). Experts stay in float32, and have no
      adapter. FSDP2 gives each learner an even part of every weight's first axis, rounded up (`fully_shard` of
      PyTorch's documentation); an embedding that is also the head stays whole, as `engine.training.sharding` has it.
    - Moments in 8 bits (`eight_bit`, one learner) are one byte each, and 4 for the scale of 256 of them; those of
      tensors with fewer than 4096 numbers stay in float32 (`min_8bit_size` of bitsandbytes).
    - `lora_ranks` are the layers of an adapter that the run trains further, each with its rank. Without it an adapter
      is of all layers that `lora_targets` names, with `lora_rank`. The backward pass ends at the first one with an
      adapter.
    - A reference is a second model without gradients; under LoRA it is the policy without its adapter and costs
      nothing, or with the adapter that the run starts from, of which there is a frozen copy.
    - An adapter that the run starts from and does not train further is merged into policy and reference before they are
      sharded.
    - A critic is a second body with its moments, and a head. It is updated before the policy, so the two never have
      gradients at the same time.
    - AdamW's fused kernel needs nothing more. With moments in 8 bits it needs nothing on a GPU, and on a CPU 5 float32
      of each number of the largest weight: both moments, the gradient, and the second one's root before and after its
      correction.
    - While the gradients of `loss_terms` are decomposed, the sum of each is held, and one that is added
      (`engine.diagnostics.gradients`).
    - Where the embedding is the head, its gradient from the one is added to that from the other.
    - Several learners gather weights and gradients, see `gathered_bytes`.
    - Of several learners each reads its own part of every model. Where the files do not allow that (`in_parts`), it
      loads before it shards: the whole policy, and the whole reference or critic too.
    - A checkpoint that is written in the `background` is written from a copy in main memory: of the model, float32, or
      of the adapter; and of what training resumes from, the optimiser's state, the average and the critic. Each of
      several learners copies its part of these instead: weights that are not in main memory or that train, and what
      training resumes from. Main memory has to hold the copies of all learners, if they are on one machine.
    - To write a checkpoint with an adapter, a single learner holds merged weights in main memory, in float32: what one
      file holds and the largest weight, or all merged matrices where the files cannot be read in parts. In the
      background they come on top of the copy.
    - `process` is what the process takes before it has a model, in main memory on a CPU.
    - Main memory holds, with one learner and a GPU, the model while it loads, and later that copy. Where Ray's object
      store sends the weights (`sends_weights`), it keeps them from one sync to the next; while they are sent, the
      learner has them once more, unless it has them in float32 in main memory anyway. With several learners the first
      holds one file's worth of what they save; all weights, and once more in the store; and a whole model to save from
      where the files cannot be read in parts.
    """
    base = dict(shape.weights)
    added = _adapters(shape, lora_rank, lora_targets, lora_ranks)
    body = dict(shape.body)
    trained = added or base
    trained_body = {name: size for name, size in added.items() if name.partition(".")[0] not in HEADS} or body
    whole = set(shape.embedding) if shape.tied else set()
    value_head = (shape.hidden + 1) * FLOAT

    def part(weights: Mapping[str, Sizes], *, tied: bool = True) -> int:
        return FLOAT * sum(shard(size, 1 if tied and name in whole else learners) for name, size in weights.items())

    def moments(weights: Mapping[str, Sizes], *, tied: bool = True) -> int:
        if not eight_bit:
            return MOMENTS * part(weights, tied=tied)
        return sum(moment_bytes(prod(size)) for size in weights.values())

    def largest_part(weights: Mapping[str, Sizes]) -> int:
        return max((part({name: size}) for name, size in weights.items()), default=0)

    everything = FLOAT * count([*base.values(), *added.values()])
    copied = FLOAT * count({**body, **trained_body}.values()) + value_head
    halved = HALF * count(shape.linear.values()) if half and learners == 1 else 0
    halved_base = halved if lora_rank else 0
    copies_reference = reference and not lora_rank
    own_reference = part(base) - halved if copies_reference else part(added) if reference and starts_from_adapter else 0
    of_critic = part({**body, **trained_body}, tied=False) - halved_base + value_head
    critic_moments = moments(trained_body, tied=False) + MOMENTS * value_head
    gathered_state = moments(trained) if eight_bit else MOMENTS * FLOAT * count(trained.values())
    if critic and eight_bit:
        gathered_state += critic_moments + copied
    elif critic:
        gathered_state += MOMENTS * (FLOAT * count(trained_body.values()) + value_head) + copied
    merges = starts_from_adapter and not lora_rank
    several = learners > 1 and shape.in_parts and not merges
    of_all = part({**base, **added}) - halved_base
    largest = FLOAT * max(map(prod, base.values()), default=0)
    whole_ones = max(everything if copies_reference else 0, own_reference + copied if critic else 0)
    saved = min(max(everything, gathered_state), FILE_BYTES + largest)
    saved_by_autograd = activation_bytes(
        shape,
        tokens=tokens,
        sampled=sampled,
        half=half,
        checkpointing=checkpointing,
        rounded=learners == 1 and not halved_base,
        trains_head=not lora_rank,
        layers=_from_the_first(shape, added) if added else shape.layers,
        context=context,
        gathered=learners > 1,
        packing=packing,
    )
    export_model = 0 if shape.in_parts else everything
    copied_shards = (part({**base, **added}) if gpu else part(trained)) + moments(trained)
    copied_critic = part(trained_body, tied=False) + value_head + critic_moments if critic else 0
    merged = FLOAT * count(size for name, size in base.items() if f"{_layer(name)}.lora_A" in added)
    if added and shape.in_parts:
        made = everything - FLOAT * count(added.values()) if gpu else max(merged, 2 * halved_base)
        merged = min(made, FILE_BYTES + largest)
    whole_copy = gathered_state + (part(added) + merged if added else FLOAT * count(base.values()))
    to_copy = (whole_copy if learners == 1 else copied_shards + copied_critic) + part(trained) * average
    needed = to_copy if background == "always" else 0
    stored = everything * sends_weights
    sent = stored * (2 if gpu or added else 1)
    return LearnerMemory(
        weights=of_all,
        gradients=max(part(trained), part(trained_body, tied=False) + value_head if critic else 0),
        moments=moments(trained),
        average=part(trained) if average else 0,
        reference=own_reference,
        critic=of_critic + critic_moments if critic else 0,
        activations=max(saved_by_autograd, FLOAT * count(shape.embedding.values()) if shape.tied and not added else 0),
        gathered=gathered_bytes(shape, added, activations=saved_by_autograd, half=half) if learners > 1 else 0,
        stepping=5 * largest_part(trained) if eight_bit and not gpu else 0,
        loading=process
        + (of_all + own_reference + (of_critic if critic else 0) if several else everything + whole_ones),
        process=process,
        copy=0 if gpu else needed,
        saving=0 if gpu or needed or learners > 1 else merged,
        by_term=loss_terms * part(trained),
        copy_if_free=to_copy if background == "auto" and count(base.values()) > MANY_PARAMETERS else 0,
        host=(max(everything, needed + stored, merged + stored, sent) if gpu else sent)
        if learners == 1
        else export_model + max(saved, 2 * everything * sends_weights) + (needed * learners if gpu else 0),
    )


def moment_bytes(numbers: int) -> int:
    """Of both moments of a tensor, in 8 bits if it is large enough."""
    return MOMENTS * (numbers + FLOAT * -(-numbers // BLOCK) if numbers >= LEAST else FLOAT * numbers)


def shard(size: Sizes, learners: int) -> int:
    """The most numbers of a weight that one of `learners` holds: the first axis is split."""
    first, *rest = size or (1,)
    return -(-first // learners) * prod(rest)


def _adapters(shape: ModelShape, rank: int, targets: str, ranks: Mapping[str, int] | None = None) -> dict[str, Sizes]:
    """The two matrices of LoRA for each adapted linear layer: `(rank, in)`, `(out, rank)`."""
    if not rank:
        return {}
    found: dict[str, Sizes] = {}
    body, head = shape.linear, shape.head
    for name, (out, into) in (body | head).items():
        if shape.transposed and name in body:
            out, into = into, out
        layer = _layer(name)
        own = rank * _is_named(shape, layer, targets) if ranks is None else _rank_in(ranks, layer)
        if own:
            found |= {f"{layer}.lora_A": (own, into), f"{layer}.lora_B": (out, own)}
    return found


def _is_named(shape: ModelShape, layer: str, targets: str) -> bool:
    """`all-linear` leaves out the head."""
    return is_adapted(layer, targets) and (targets != ALL or f"{layer}.weight" not in shape.head)


def _rank_in(ranks: Mapping[str, int], layer: str) -> int:
    """0 for a layer that is not adapted. Files may have names without the prefix of the body."""
    return ranks.get(layer) or next((rank for name, rank in ranks.items() if name.endswith(f".{layer}")), 0)


def _from_the_first(shape: ModelShape, trained: Iterable[str]) -> int:
    """Layers of the model that the backward pass goes through: from the first that has a trained weight."""
    numbers = [int(match[3]) if (match := LAYER.search(name)) else shape.layers for name in trained]
    return shape.layers - min([*numbers, shape.layers])


def _layer(name: str) -> str:
    return name.removesuffix(".weight")
