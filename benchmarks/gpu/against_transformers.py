"""The learner's update against a bare forward and backward pass of transformers over the same tokens.

    python -m benchmarks.gpu.against_transformers [--small] [--rows N] [--length N] [--precision P] [--profile]

Needs torch, transformers and pydantic. A model of Qwen2.5-0.5B's shape and random weights; sequences of one length, so
that a pack and a padded batch hold the same tokens, half of which were sampled. Seconds are of the CPU's time without a
GPU, with one thread; the best of some passes. The bare pass has the cross-entropy of transformers' logits: of all
tokens, as `model(input_ids, labels)` computes them, and of the sampled tokens alone (`logits_to_keep`). `update` is the
engine's loss with entropies, clipping and AdamW; `step` is the part of the last two. With `--profile` one more update
runs on a CPU under torch's profiler: `shares` are the parts of its time that kinds of operations take.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.profiler import ProfilerActivity, profile, record_function

from benchmarks.gpu.learner import made_up_batch
from benchmarks.gpu.models import QWEN25_HALF_BILLION, SMALL, device_name, random_model
from engine.config import OptimizerConfig, RunConfig
from engine.policies.loading import run_body
from engine.rollout.batching import Batch
from engine.training.learner import Learner


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a very small model, for any machine")
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--precision", choices=["auto", "float32", "bfloat16"], default="auto")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="where the time of an update goes, on a CPU")
    options = parser.parse_args()
    if options.profile and torch.cuda.is_available():
        parser.error("--profile measures a CPU's operations: hide the GPU (CUDA_VISIBLE_DEVICES=)")
    sizes = SMALL if options.small else QWEN25_HALF_BILLION
    found = measure(
        sizes,
        options.rows,
        options.length,
        precision=options.precision,
        repeats=options.repeats,
        profiled=options.profile,
    )
    sys.stdout.write(json.dumps({"benchmark": "against_transformers", **found}) + "\n")
    return 0


def measure(
    sizes: dict[str, Any], rows: int, length: int, *, precision: str, repeats: int, profiled: bool = False
) -> dict[str, Any]:
    if not torch.cuda.is_available():
        torch.set_num_threads(1)
    optimizer = OptimizerConfig.model_validate(
        {"packing": True, "precision": precision, "updates_per_step": 1, "micro_batch_tokens": rows * length}
    )
    learner = Learner(random_model(sizes), RunConfig.model_construct(environments=[], optimizer=optimizer))
    batch = made_up_batch(rows, length, vocabulary=sizes["vocab_size"])
    ways: dict[str, Callable[[], object]] = {
        "all_logits": lambda: bare(learner.model, batch, only_sampled=False),
        "sampled_logits": lambda: bare(learner.model, batch, only_sampled=True),
        "update": lambda: update(learner, batch),
        "step": lambda: step(learner),
    }
    seconds: dict[str, float] = {}
    for name, way in ways.items():
        seconds[name] = min(timed(way) for _ in range(repeats + 1))
    without_step = seconds["update"] - seconds["step"]
    return {
        "device": device_name(),
        "tokens": rows * length,
        "sampled": int(batch.mask.sum()),
        "precision": str(learner.model.base_model.computes_in).removeprefix("torch."),
        **{name: round(found, 3) for name, found in seconds.items()},
        "update_without_step_of_all_logits": round(without_step / seconds["all_logits"], 3),
        "update_without_step_of_sampled_logits": round(without_step / seconds["sampled_logits"], 3),
        "update_of_all_logits": round(seconds["update"] / seconds["all_logits"], 3),
        **({"shares": update_shares(learner, batch)} if profiled else {}),
    }


def timed(way: Callable[[], object]) -> float:
    gpu = torch.cuda.is_available()
    if gpu:
        torch.cuda.synchronize()
    clock = time.perf_counter if gpu else time.process_time
    began = clock()
    way()
    if gpu:
        torch.cuda.synchronize()
    return clock() - began


def bare(model: Any, batch: Batch, *, only_sampled: bool) -> None:
    """transformers' own pass, in the engine's precision. The gradient is dropped."""
    ids, mask = batch.ids.to(model.device), batch.mask.to(model.device).bool()
    hidden = run_body(model.base_model, input_ids=ids[:, :-1], use_cache=False).last_hidden_state
    targets = ids[:, 1:]
    if only_sampled:
        hidden, targets = hidden[mask[:, 1:]], targets[mask[:, 1:]]
    logits = model.get_output_embeddings()(hidden.float())
    cross_entropy(logits.flatten(0, -2), targets.flatten()).backward()
    model.zero_grad(set_to_none=True)


def update(learner: Learner, batch: Batch) -> None:
    learner.update(batch, batch.scores[:, None] * batch.mask, step=1, shuffle=torch.Generator().manual_seed(0))


def update_shares(learner: Learner, batch: Batch) -> dict[str, float]:
    """Of an update's time: the share of each kind of operation, largest first. AdamW's all count as its own."""
    from benchmarks.step_profile import below, by_kind, shares  # it needs all of the engine

    with profile(activities=[ProfilerActivity.CPU]) as profiler, record_function("update"):
        update(learner, batch)
    events = profiler.events()
    assert events is not None
    span = next(one for one in events if one.name == "update")
    kinds = by_kind(below(span))
    for one in below(span):
        if one.name.startswith("Optimizer.step"):
            inside = by_kind(below(one))
            kinds.subtract(inside)
            kinds["optimizer"] += inside.total()
    return shares(kinds, span.time_range.elapsed_us())


def step(learner: Learner) -> None:
    """Clipping and AdamW, with gradients of zero, which take as long as others."""
    for weight in learner.model.parameters():
        weight.grad = torch.zeros_like(weight)
    torch.nn.utils.clip_grad_norm_(learner.model.parameters(), 1.0)
    learner.optimizer.step()
    learner.optimizer.zero_grad(set_to_none=True)


if __name__ == "__main__":
    sys.exit(main())
