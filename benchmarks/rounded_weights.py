"""Our own sampler in bfloat16 with weights and cached keys rounded once for a rollout, and at each decoding step.

    python -m benchmarks.rounded_weights [--small] [--layers N] [--vocabulary N] [--rows N] [--prompt N]
        [--response N] [--rounds N]

The engine's way is the first one. Autocast by itself rounds float32 weights at each use, and attention the keys, which
the rotation leaves in float32. `equal`: both ways sampled the same tokens with the same log-probabilities, to the bit,
as they should. They take turns; `seconds` are medians of a rollout, of the CPU's time without a GPU, with one thread.
A model of Qwen2.5-0.5B's shape and random weights.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from benchmarks.gpu.models import QWEN25_HALF_BILLION, SMALL, device_name, random_model
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.loading import compute_in
from engine.policies.ragged_cache import RaggedCache
from engine.policies.rounded_weights import rounded_once
from engine.rollout.types import Response

ONCE, EACH_STEP = "once", "each_step"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a very small model and few rows, for any machine")
    parser.add_argument("--layers", type=int, help="of the model, instead of all")
    parser.add_argument("--vocabulary", type=int, help="instead of the whole one, whose head computes in float32")
    parser.add_argument("--rows", type=int, help="trajectories at once")
    parser.add_argument("--prompt", type=int, default=64, help="tokens of each prompt; all differ")
    parser.add_argument("--response", type=int, help="tokens of each response")
    parser.add_argument(
        "--rounds", type=int, default=3, help="rollouts of each way that count, after one that does not"
    )
    options = parser.parse_args()
    if not torch.cuda.is_available():
        torch.set_num_threads(1)
    sizes = dict(SMALL if options.small else QWEN25_HALF_BILLION)
    if options.layers:
        sizes["num_hidden_layers"] = options.layers
    if options.vocabulary:
        sizes["vocab_size"] = options.vocabulary
    rows, response = options.rows or (4 if options.small else 16), options.response or (8 if options.small else 32)
    found = measure(sizes, rows=rows, prompt=options.prompt, response=response, rounds=options.rounds)
    sys.stdout.write(json.dumps({"benchmark": "rounded_weights", **found}) + "\n")
    return 0


def measure(sizes: dict[str, Any], *, rows: int, prompt: int, response: int, rounds: int) -> dict[str, Any]:
    model = random_model(sizes)
    compute_in(model, "bfloat16")
    draw = torch.Generator().manual_seed(0)
    prompts = torch.randint(10, 1000, (rows, prompt), generator=draw).tolist()
    seconds: dict[str, list[float]] = {ONCE: [], EACH_STEP: []}
    equal = True
    for _ in range(1 + rounds):
        sampled = {}
        for way in seconds:
            began = clock()
            sampled[way] = roll_out(model, prompts, response, way)
            seconds[way].append(clock() - began)
        equal = equal and sampled[ONCE] == sampled[EACH_STEP]
    medians = {way: statistics.median(every[1:]) for way, every in seconds.items()}
    return {
        "device": device_name(),
        "layers": sizes["num_hidden_layers"],
        "vocabulary": sizes["vocab_size"],
        "rows": rows,
        "prompt": prompt,
        "response": response,
        "equal": equal,
        "seconds": {way: round(median, 3) for way, median in medians.items()},
        "each_step_of_once": round(medians[EACH_STEP] / medians[ONCE], 3),
    }


def roll_out(model: Any, prompts: list[list[int]], response: int, way: str) -> list[Response]:
    """All responses in the order of their rows, the rounding included in the time."""
    held: AbstractContextManager[None] = rounded_once(model) if way == ONCE else nullcontext()
    with held:
        sampler = BatchedSampler(model, rows=len(prompts), stop_ids=set(), temperature=1.0, seeds=[1])
        if way == EACH_STEP:
            sampler.cache = RaggedCache(len(prompts), dtype=torch.float32)
        for row, ids in enumerate(prompts):
            sampler.submit(row, ids, max_tokens=response)
        found: list[Response] = []
        while responses := sampler.advance():
            found += responses
    return sorted(found, key=lambda one: one.row)


def clock() -> float:
    if not torch.cuda.is_available():
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    sys.exit(main())
