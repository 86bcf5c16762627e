"""Tokens per second of vLLM and of our own sampler: the same model of random weights, prompts and lengths.

Needs torch, transformers and pydantic, and vLLM for its half; without it only ours is measured. Each runs in a process
of its own, through the interface that a run uses, `ResponseSampler`; they take turns, and the medians of all rounds are
compared. Without a GPU, vLLM alone decodes in its caller's process, as it does within this engine: in a process of its
own it leaves one core idle. There this engine starts it without compiled graphs, so that is measured of vLLM alone too.
It prints a line of JSON after each measurement, with all results until then.

    python -m benchmarks.gpu.sampler [--small] [--rows N] [--prompt N] [--response N] [--rounds N] [--memory-share X]
        [--samplers ours|vllm|bare|uncompiled ...]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.gpu.models import QWEN25_HALF_BILLION, SMALL, device_name, save_random_model

REPEATS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a very small model and few rows, for any machine")
    parser.add_argument("--rows", type=int, help="trajectories at once")
    parser.add_argument("--prompt", type=int, help="tokens of each prompt; all differ")
    parser.add_argument("--response", type=int, help="tokens of each response")
    parser.add_argument("--rounds", type=int, default=1, help="times that each is measured, in turn")
    parser.add_argument("--memory-share", type=float, default=0.8, help="of the GPU's memory, for vLLM")
    parser.add_argument("--samplers", choices=SAMPLERS, nargs="+", help="measure only these")
    parser.add_argument("--only", choices=SAMPLERS, help="measure one of them in this process")
    parser.add_argument("--model", help="with --only: a directory")
    options = parser.parse_args()
    options.rows = options.rows or (8 if options.small else 256)
    options.prompt = options.prompt or (32 if options.small else 512)
    options.response = options.response or (16 if options.small else 256)
    if options.only:
        sys.stdout.write(json.dumps(round(speed(SAMPLERS[options.only](options), options), 1)) + "\n")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = save_random_model(SMALL if options.small else QWEN25_HALF_BILLION, Path(folder))
        installed = importlib.util.find_spec("vllm") is not None
        chosen = options.samplers or (list(SAMPLERS) if installed else ["ours"])
        found: dict[str, list[float]] = {name: [] for name in chosen}
        for name in chosen * options.rounds:
            found[name].append(measure(name, path, options))
            sys.stdout.write(json.dumps({"benchmark": "gpu_sampler", **result(found, options)}) + "\n")
            sys.stdout.flush()
    return 0


def result(found: dict[str, list[float]], options: argparse.Namespace) -> dict[str, Any]:
    medians = {name: statistics.median(rates) for name, rates in found.items() if rates}
    ours, vllm, bare, uncompiled = (medians.get(name) for name in ("ours", "vllm", "bare", "uncompiled"))
    return {
        "device": device_name(),
        "rows": options.rows,
        "prompt": options.prompt,
        "response": options.response,
        "rounds": options.rounds,
        "vllm_tokens_per_second": vllm,
        "bare_vllm_tokens_per_second": bare,
        "uncompiled_bare_vllm_tokens_per_second": uncompiled,
        "ours_tokens_per_second": ours,
        "ratio": round(vllm / ours, 2) if vllm and ours else None,
        "of_bare_vllm": round(vllm / bare, 3) if vllm and bare else None,
        "of_uncompiled": round(vllm / uncompiled, 3) if vllm and uncompiled else None,
    }


def measure(which: str, path: str, options: argparse.Namespace) -> float:
    command = [sys.executable, "-m", "benchmarks.gpu.sampler", "--only", which, "--model", path]
    command += ["--small"] if options.small else []
    for name in ("rows", "prompt", "response", "memory_share"):
        command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{which} could not be measured:\n{done.stderr[-3000:]}")
    printed = [line for line in done.stdout.splitlines() if is_number(line)]  # vLLM logs there as well
    if not printed:
        raise SystemExit(f"{which} printed no result:\n{done.stdout[-1500:]}")
    return float(printed[-1])


def is_number(line: str) -> bool:
    return line.strip().replace(".", "", 1).isdecimal()


Start = Callable[[list[int]], Any]  # seeds to a sampler of one rollout


def speed(start: Start, options: argparse.Namespace) -> float:
    """Sampled tokens per second, prompts included in the time: the median of some rollouts after the first."""
    rates = []
    for repeat in range(1 + REPEATS):
        sampler = start([repeat])
        began = time.monotonic()
        for row, ids in enumerate(prompts(options, seed=repeat)):
            sampler.submit(row, ids, max_tokens=options.response)
        responses = 0
        while done := sampler.advance():
            responses += len(done)
        if responses != options.rows:
            raise SystemExit(f"{responses} responses instead of {options.rows}")
        rates.append(options.rows * options.response / (time.monotonic() - began))
    return float(statistics.median(rates[1:]))


def prompts(options: argparse.Namespace, *, seed: int) -> list[list[int]]:
    import numpy as np

    draw = np.random.default_rng(seed)
    found: list[list[int]] = draw.integers(10, 1000, (options.rows, options.prompt)).tolist()
    return found


def ours(options: argparse.Namespace) -> Start:
    import torch
    from transformers import AutoModelForCausalLM

    from engine.policies.batched_sampler import BatchedSampler
    from engine.policies.loading import compute_in
    from engine.policies.rounded_weights import rounded_once

    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32, attn_implementation="sdpa").eval()
    if torch.cuda.is_available():
        model = model.cuda()
    compute_in(model, "auto")
    rounded = ExitStack()  # until the process ends
    rounded.enter_context(rounded_once(model))
    return lambda seeds: BatchedSampler(model, rows=options.rows, stop_ids=set(), temperature=1.0, seeds=seeds)


def with_vllm(options: argparse.Namespace) -> Start:
    from engine.policies.vllm_engine import VllmEngine
    from engine.policies.vllm_sampler import VllmSampler

    engine = VllmEngine(
        options.model,
        max_context_tokens=options.prompt + options.response,
        rows=options.rows,
        memory_share=options.memory_share,
    )
    return lambda seeds: VllmSampler(engine, rows=options.rows, stop_ids=set(), temperature=1.0, seeds=seeds)


class Bare:
    """vLLM's own engine, given all prompts at once: what it samples without this engine around it."""

    def __init__(self, engine: Any, seed: int) -> None:
        self.engine, self.seed = engine, seed
        self.prompts: list[list[int]] = []
        self.tokens = 0

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.prompts.append(ids)
        self.tokens = max_tokens

    def advance(self) -> list[Any]:
        from vllm import SamplingParams

        if not self.prompts:
            return []
        given, self.prompts = self.prompts, []
        parameters = SamplingParams(
            max_tokens=self.tokens, temperature=1.0, ignore_eos=True, detokenize=False, logprobs=0, seed=self.seed
        )
        return list(self.engine.generate([{"prompt_token_ids": ids} for ids in given], parameters, use_tqdm=False))


def bare_vllm(options: argparse.Namespace, *, compiled: bool = True) -> Start:
    import torch

    gpu = torch.cuda.is_available()
    if not gpu:
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    from vllm import LLM

    engine = LLM(
        options.model,
        skip_tokenizer_init=True,
        max_model_len=options.prompt + options.response,
        max_num_seqs=options.rows,
        dtype="bfloat16" if gpu else "float32",
        enforce_eager=options.small or not compiled,  # its graphs take a minute to compile
        **({"gpu_memory_utilization": options.memory_share} if gpu else {"kv_cache_memory_bytes": 2**30}),
    )
    return lambda seeds: Bare(engine, seeds[0])


SAMPLERS: dict[str, Callable[[argparse.Namespace], Start]] = {
    "ours": ours,
    "vllm": with_vllm,
    "bare": bare_vllm,
    "uncompiled": partial(bare_vllm, compiled=False),
}

if __name__ == "__main__":
    sys.exit(main())
