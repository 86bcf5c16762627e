"""The learner's update of a model of 0.5 or 3 billion parameters and random weights: speed, utilisation and memory.

Needs torch, transformers and pydantic. The update is the engine's own (`engine.training.learner`): micro-batches, loss,
clipping, AdamW, and packs with `--packing`. Trajectories are synthetic; half of their tokens count as sampled, in
responses of 64.

    python -m benchmarks.gpu.learner [--small] [--model 0.5B|3B] [--rows N] [--length N] [--micro-batch-tokens N]
        [--checkpointing] [--packing] [--peak-tflops X]

`mfu` is model FLOP utilisation (PaLM, arXiv 2204.02311, appendix B): operations that the model needs, as
`benchmarks.operations` counts them, for each second and over the GPU's peak by its data sheet. `of_product` is the same
over what one large matrix product reaches here, which a CPU has too. A GPU that the table of peaks lacks is refused.
It prints a line of JSON after each update, with the median until then.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import torch

from benchmarks.gpu.models import SIZES, SMALL, device_name, random_model
from benchmarks.gpu.peaks import UnknownPeak, peak_tflops
from benchmarks.operations import qwen2, update_operations
from engine.cluster.learner_memory import learner_memory
from engine.config import OptimizerConfig, RunConfig
from engine.policies.model_shape import ModelShape
from engine.rollout.batching import Batch, last_token_rewards
from engine.training.learner import Learner
from engine.training.token_values import tokens_per_forward

RESPONSE = 64  # tokens, after as many prompt tokens
WARM_UP = 2
PRODUCT = {"cuda": 8192, "cpu": 1024}  # width of the matrices of the product


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a very small model and batch, for any machine")
    parser.add_argument("--model", choices=SIZES, default="0.5B")
    parser.add_argument("--rows", type=int, help="trajectories of an update")
    parser.add_argument("--length", type=int, help="tokens of each")
    parser.add_argument("--micro-batch-tokens", type=int, default=0)
    parser.add_argument("--precision", default="auto", choices=["auto", "float32", "bfloat16"])
    parser.add_argument("--checkpointing", action="store_true", help="compute activations a second time")
    parser.add_argument("--packing", action="store_true")
    parser.add_argument("--updates", type=int, help="that count, after a warm-up of two")
    parser.add_argument("--peak-tflops", type=float, help="of the GPU, where the table lacks it")
    options = parser.parse_args()
    small = options.small
    try:
        for result in measure(
            SMALL if small else SIZES[options.model],
            rows=options.rows or (8 if small else 64),
            length=options.length or (128 if small else 2048),
            updates=options.updates or (2 if small else 8),
            peak=options.peak_tflops,
            optimizer={
                "micro_batch_tokens": options.micro_batch_tokens,
                "precision": options.precision,
                "gradient_checkpointing": options.checkpointing,
                "packing": options.packing,
            },
        ):
            sys.stdout.write(json.dumps({"benchmark": "gpu_learner", **result}) + "\n")
            sys.stdout.flush()
    except UnknownPeak as unknown:
        raise SystemExit(str(unknown)) from None
    return 0


def measure(
    sizes: dict[str, Any], *, rows: int, length: int, updates: int, peak: float | None, optimizer: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Results of the updates until then, after each."""
    # nothing is rolled out, so the requirements of environments need not be installed
    config = RunConfig.model_construct(environments=[], optimizer=OptimizerConfig(**optimizer, updates_per_step=1))
    shape = qwen2(sizes)
    model = random_model(sizes)
    learner = Learner(model, config)
    gpu = model.device.type == "cuda"
    half = model.base_model.computes_in == torch.bfloat16
    named = peak_tflops(device_name(), half=half, given=peak) if gpu else peak
    batch = made_up_batch(rows, length, vocabulary=shape.vocabulary)
    for update in range(WARM_UP):
        timed(learner, batch, update)
    product = product_tflops(model.device, torch.bfloat16 if half else torch.float32)
    if gpu:
        torch.cuda.reset_peak_memory_stats()
    sampled = int(batch.mask.sum())
    operations = update_operations(shape, tokens=rows * length, length=length, scored=sampled)
    estimated = estimated_bytes(learner, shape, tokens=rows * length, share=sampled / (rows * length), half=half)
    every: list[float] = []
    for update in range(updates):
        every.append(timed(learner, batch, WARM_UP + update))
        seconds = statistics.median(every)
        reached = operations / seconds / 1e12
        held = torch.cuda.max_memory_allocated() if gpu else None
        yield {
            "device": device_name(),
            "parameters": shape.parameters,
            "precision": "bfloat16" if half else "float32",
            "rows": rows,
            "length": length,
            "sampled": sampled,
            "packing": config.optimizer.packing,
            "checkpointing": config.optimizer.gradient_checkpointing,
            "updates": len(every),
            "seconds": round(seconds, 4),
            "tokens_per_second": round(rows * length / seconds),
            "tflops": round(reached, 4),
            "peak_tflops": named,
            "mfu": round(reached / named, 4) if named else None,
            "product_tflops": round(product, 4),
            "of_product": round(reached / product, 4),
            "peak_gib": round(held / 2**30, 3) if held else None,
            "estimated_gib": round(estimated / 2**30, 3),
        }


def timed(learner: Learner, batch: Batch, update: int) -> float:
    """Seconds of one update."""
    began = time.perf_counter()
    learner.update(
        batch, batch.scores[:, None] * batch.mask, step=1 + update, shuffle=torch.Generator().manual_seed(update)
    )
    if learner.model.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def product_tflops(device: torch.device, dtype: torch.dtype) -> float:
    """Of a product of two square matrices, the best of ten."""
    width = PRODUCT[device.type]
    one, other = (torch.randn(width, width, device=device, dtype=dtype) for _ in range(2))
    best = float("inf")
    for _ in range(10):
        began = time.perf_counter()
        one @ other
        if device.type == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    return 2 * width**3 / best / 1e12


def estimated_bytes(learner: Learner, shape: ModelShape, *, tokens: int, share: float, half: bool) -> int:
    """The launch form's memory estimate for this learner."""
    optimizer, device = learner.config.optimizer, learner.model.device
    at_once = min(tokens, tokens_per_forward(optimizer, device))
    return learner_memory(
        shape,
        tokens=at_once,
        sampled=round(at_once * share),
        half=half,
        checkpointing=optimizer.gradient_checkpointing,
        gpu=device.type == "cuda",
    ).total


def made_up_batch(rows: int, length: int, *, vocabulary: int) -> Batch:
    """`rows` (B) of `length` (T) random tokens, of which every second stretch of `RESPONSE` was sampled."""
    draw = torch.Generator().manual_seed(0)
    mask = ((torch.arange(length).expand(rows, length) // RESPONSE) % 2).float()  # (B, T)
    scores = torch.randn(rows, generator=draw)
    logprobs = -torch.rand(rows, length, generator=draw) * mask
    return Batch(
        ids=torch.randint(vocabulary, (rows, length), generator=draw),
        mask=mask,
        sampled=mask,
        logprobs=logprobs,
        sampler_logprobs=logprobs,
        contexts=torch.zeros((rows, length), dtype=torch.long),
        lengths=torch.full((rows,), length),
        scores=scores,
        returns=scores,
        rewards=last_token_rewards(scores, mask),
        entropies=torch.zeros(rows),
        baselines=torch.zeros(rows),
        groups=torch.arange(rows) // 8,
        tags=torch.zeros(rows, dtype=torch.long),
    )


if __name__ == "__main__":
    sys.exit(main())
