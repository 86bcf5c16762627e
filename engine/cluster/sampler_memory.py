"""The memory of one sampler: vLLM's, on each of its GPUs, or our own."""

from __future__ import annotations

from dataclasses import dataclass

from engine.cluster.byte_units import FLOAT, HALF, INDEX, LIBRARIES, count
from engine.config.sampling import CACHE_COLUMNS, PREFILL_TOKENS, VLLM_CPU_BATCH, VLLM_CPU_BLOCK
from engine.policies.layer_shapes import LayerShape, layer_shapes
from engine.policies.model_shape import ModelShape

VLLM_GPU_BATCH = 2048  # tokens of one forward pass, vLLM's default
ROUNDED = "matrices in bfloat16"


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerMemory:
    """Bytes on each device of one sampler; `sequence` is the part of `cache` that one full context takes."""

    weights: int
    cache: int
    work: int
    sequence: int
    rounded: int = 0  # copies of the matrices during a rollout
    process: int = 0

    @property
    def certain(self) -> int:
        """The least that works, however few rows there are."""
        return self.process + self.weights + self.rounded + self.sequence

    @property
    def total(self) -> int:
        return self.process + self.weights + self.rounded + self.cache + self.work

    def parts(self) -> list[tuple[str, int]]:
        named = [
            (LIBRARIES, self.process),
            ("weights", self.weights),
            (ROUNDED, self.rounded),
            ("cache", self.cache),
            ("work", self.work),
        ]
        return [(name, size) for name, size in named if size]


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
    blocks = -(-context // VLLM_CPU_BLOCK)
    batch = VLLM_GPU_BATCH if gpu else max(context, VLLM_CPU_BATCH, rows)
    return SamplerMemory(
        weights=-(-shape.parameters // tensor_parallel) * size,
        cache=(rows * blocks + 1) * VLLM_CPU_BLOCK * token,
        work=batch * feed_forward_work(shape, size=size, split=tensor_parallel) + 3 * rows * shape.vocabulary * FLOAT,
        sequence=context * token,
    )


def torch_memory(shape: ModelShape, *, context: int, rows: int, turn: int = 0, half: bool = False) -> SamplerMemory:
    """Our own sampler, with weights in float32: a cache for all `rows`, extended by 128 tokens at a time, and for each
    row the logits, log-probabilities and probabilities of the vocabulary and their cumulative sum in double precision.
    A prefill of long prompts takes most in a feed-forward, one of the `turn` tokens that follow a long context in
    attention. If it computes in bfloat16 (`half`), the cache is in that too, and a rollout has a rounded copy of each
    matrix (`engine.policies.rounded_weights`)."""
    token = shape.layers * shape.cached * (HALF if half else FLOAT)
    columns = -(-context // CACHE_COLUMNS) * CACHE_COLUMNS
    feeding_forward = min(PREFILL_TOKENS, rows * context) * feed_forward_work(shape, size=FLOAT)
    attending = attention_work(shape, context=context, rows=rows, turn=turn or context, half=half)
    return SamplerMemory(
        weights=shape.parameters * FLOAT,
        cache=rows * columns * token,
        work=max(feeding_forward, attending) + rows * shape.vocabulary * (3 * FLOAT + 8),
        sequence=columns * token,
        rounded=HALF * count(shape.linear.values()) if half else 0,
    )


def feed_forward_work(shape: ModelShape, *, size: int, split: int = 1) -> int:
    """Bytes for each token in the feed-forward of one layer, without gradients: of the layer that takes most, split
    between `split` GPUs. Besides its numbers, six of the hidden size.

    With experts of inner size m each pair of a token and an expert has its input, twice gate and up, its weight, and
    its place in four orders, as indices (`grouped_mm_experts_forward` of transformers).
    """

    def of_layer(layer: LayerShape) -> int:
        pairs = max(1, shape.experts_per_token) if layer.routed else 0
        pair = size * (shape.hidden + 4 * -(-shape.expert_intermediate // split) + 1) + 4 * INDEX
        return size * (6 * shape.hidden + 4 * -(-layer.inner // split)) + pairs * pair

    return max(map(of_layer, layer_shapes(shape)))


def attention_work(shape: ModelShape, *, context: int, rows: int, turn: int, half: bool = False) -> int:
    """What one layer of our own sampler takes to prefill `turn` tokens of each row at the end of `context`.

    Since there is a mask, keys and values are repeated for each query head that shares them; they are copied before,
    as other rows may decode meanwhile. The mask has a byte and a number for each new token and column. Besides, six
    numbers of the hidden size for each new token.
    """
    size = HALF if half else FLOAT
    repeated = shape.heads if shape.heads > shape.kv_heads else 0
    new = min(PREFILL_TOKENS, rows * turn)
    columns = 2 * (repeated + shape.kv_heads) * shape.head_size * size
    return rows * context * columns + new * (context * (1 + size) + 6 * shape.hidden * FLOAT)
