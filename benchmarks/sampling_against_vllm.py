"""Our sampler against vLLM's CPU build, the same model and prompts, in one run: tokens per second and their ratio.

Needs `requirements/cluster.txt`. Both sample 128 responses of exactly 40 tokens at temperature 1, three times after a
warm-up; each runs in a process of its own with all cores, and they take turns.

    python -m benchmarks.sampling_against_vllm [--vllm-python PATH] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROWS, TOKENS, REPEATS = 128, 40, 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vllm-python", default=sys.executable, help="the interpreter that has vLLM")
    parser.add_argument("--rounds", type=int, default=3, help="times that each is measured, in turn")
    parser.add_argument("--only", choices=sorted(SAMPLERS), help="measure one of them in this process")
    options = parser.parse_args()
    if options.only:
        sys.stdout.write(json.dumps(SAMPLERS[options.only]()) + "\n")
        return 0
    rounds = [(measure(sys.executable, "ours"), measure(options.vllm_python, "vllm")) for _ in range(options.rounds)]
    ours, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
    result = {
        "benchmark": "sampling_against_vllm",
        "ours_tokens_per_second": round(ours),
        "vllm_tokens_per_second": round(theirs),
        "ratio": round(ours / theirs, 2),
    }
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


def measure(python: str, which: str) -> float:
    """Median tokens per second of one sampler in its own process."""
    environment = {**os.environ, "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_LOGGING_LEVEL": "ERROR"}
    command = [python, "-m", "benchmarks.sampling_against_vllm", "--only", which]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    if done.returncode:
        raise SystemExit(f"{which} could not be measured:\n{done.stderr[-3000:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def prompts() -> list[list[int]]:
    """First prompts of 128 lakes."""
    from engine.config import EnvironmentConfig
    from engine.policies.loading import load_model
    from engine.rollout.context_manager import ContextManager
    from engine.rollout.prompts import first_prompt

    _, tokenizer = load_model("tiny")
    context = ContextManager(tokenizer, think=True)
    lake = EnvironmentConfig.model_validate({"kind": "frozen_lake"})
    texts = [first_prompt(lake, think=True, seed=seed) for seed in range(ROWS)]
    return [list(context.first(system["content"], user["content"])) for system, user in texts]


def ours() -> float:
    from engine.cpu_threads import limit_thread_spinning

    limit_thread_spinning()
    import torch

    from engine.policies.batched_sampler import BatchedSampler
    from engine.policies.loading import load_model

    torch.set_num_threads(os.cpu_count() or 1)
    model, _ = load_model("tiny")
    asked = prompts()

    def once(repeat: int) -> float:
        sampler = BatchedSampler(model, rows=ROWS, stop_ids=set(), temperature=1.0, seeds=[repeat])
        began = time.monotonic()
        for row, ids in enumerate(asked):
            sampler.submit(row, ids, max_tokens=TOKENS)
        done = 0
        while responses := sampler.advance():
            done += len(responses)
        if done != ROWS:
            raise SystemExit(f"{done} responses instead of {ROWS}")
        return ROWS * TOKENS / (time.monotonic() - began)

    once(0)
    return statistics.median(once(repeat) for repeat in range(1, REPEATS + 1))


def with_vllm() -> float:
    from vllm import LLM, SamplingParams

    from engine.policies.model_paths import model_source

    engine = LLM(
        model=model_source("tiny"), dtype="float32", max_model_len=512, max_num_seqs=ROWS, enforce_eager=True, seed=1
    )
    parameters = SamplingParams(temperature=1.0, max_tokens=TOKENS, min_tokens=TOKENS, ignore_eos=True, logprobs=0)
    asked = [{"prompt_token_ids": ids} for ids in prompts()]

    def once() -> float:
        began = time.monotonic()
        outputs = engine.generate(asked, parameters, use_tqdm=False)
        return sum(len(o.outputs[0].token_ids) for o in outputs) / (time.monotonic() - began)

    once()
    return statistics.median(once() for _ in range(REPEATS))


SAMPLERS = {"ours": ours, "vllm": with_vllm}

if __name__ == "__main__":
    sys.exit(main())
