"""All measurements for a machine with a GPU, in one command and within ten minutes: one JSON line each, then a table.

    python -m benchmarks.gpu [--tiny] [--minutes N] [--peak-tflops X] [--out FILE]

Needs torch, transformers and pydantic; vLLM for its part of sampling, Ray and vLLM for whole steps. Weights are random
and made here. A part that cannot run or has no time left is named with its reason, and the others run. Each part has a
limit, and one that reaches it is ended and keeps the results that it has printed; so does a part during which the
command itself is ended. Lines are written as soon as a part is done, to FILE too. `--tiny` takes the same path with
very small models, on any machine and two parts at a time: it shows that everything works, and measures nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

MINUTES, TINY_MINUTES = 10.0, 2.0
TINY_AT_ONCE = 2  # most of their time is imports
TINY_ENVIRONMENT = {"OMP_NUM_THREADS": "1"}  # more threads than cores would wait for each other
POLL_SECONDS = 0.1
LEAST_SECONDS = 15.0  # a part is not begun with less
ENDED = threading.Event()  # by a signal
NAMES = {"vllm": "vLLM", "ray": "Ray"}  # of packages


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """`share` of the whole time that it may take; `modules` that must be installed; `shown` of its results."""

    title: str
    command: list[str]
    share: float
    modules: tuple[str, ...] = ()
    only_real: tuple[str, ...] = ()  # arguments that `--tiny` leaves out
    only_tiny: tuple[str, ...] = ()
    shown: tuple[str, ...]


LEARNER = ("mfu", "of_product", "tokens_per_second", "peak_gib", "estimated_gib")
PARTS = (
    Part(
        title="update, 0.5B",
        command=["benchmarks.gpu.learner", "--packing"],
        share=0.15,
        only_real=("--rows", "32", "--updates", "4"),
        shown=LEARNER,
    ),
    Part(
        title="update, 3B, gradient checkpointing",
        command=["benchmarks.gpu.learner", "--packing", "--checkpointing", "--model", "3B"],
        share=0.2,
        only_real=("--rows", "8", "--updates", "3", "--micro-batch-tokens", "4096"),
        shown=LEARNER,
    ),
    Part(
        title="update against transformers, 0.5B",
        command=["benchmarks.gpu.against_transformers"],
        share=0.1,
        only_real=("--rows", "8", "--length", "1024"),
        shown=("update_without_step_of_all_logits", "update_without_step_of_sampled_logits", "update_of_all_logits"),
    ),
    Part(
        title="attention of packs, 0.5B",
        command=["benchmarks.gpu.packed_attention"],
        share=0.05,
        shown=("padded_seconds", "without_padding_seconds", "padded_of_without_padding", "largest_difference"),
    ),
    Part(
        title="sampling, 0.5B, vLLM",
        command=["benchmarks.gpu.sampler", "--samplers", "vllm", "bare"],
        share=0.3,
        modules=("vllm",),
        shown=("vllm_tokens_per_second", "bare_vllm_tokens_per_second", "of_bare_vllm"),
    ),
    Part(
        title="log-probabilities and entropies",
        command=["benchmarks.head_scores"],
        share=0.15,
        only_real=("--tokens", "4096"),
        only_tiny=("--tokens", "256"),
        shown=("chunks", "compiled", "plain", "trl", "verl", "verl_fused"),
    ),
    Part(
        title="sampling, 0.5B, our own sampler",
        command=["benchmarks.gpu.sampler", "--samplers", "ours"],
        share=0.15,
        shown=("ours_tokens_per_second",),
    ),
    Part(
        title="sampling in bfloat16, rounded once, 0.5B",
        command=["benchmarks.rounded_weights"],
        share=0.1,
        only_real=("--rows", "128", "--response", "64"),
        shown=("equal", "seconds", "each_step_of_once"),
    ),
    Part(
        title="whole steps, colocated, with their weight sync",
        command=["benchmarks.gpu.ray_run", "--only", "colocated", "--steps", "2"],
        share=0.4,
        modules=("ray", "vllm"),
        only_tiny=("--sampler", "torch"),
        shown=("colocated",),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="very small models, on any machine")
    parser.add_argument(
        "--minutes", type=float, help=f"for all parts together; {MINUTES:g}, {TINY_MINUTES:g} with --tiny"
    )
    parser.add_argument("--peak-tflops", type=float, help="of the GPU, where the table of peaks lacks it")
    parser.add_argument("--out", type=Path, help="a file that gets the same lines and the table")
    options = parser.parse_args()
    options.minutes = options.minutes or (TINY_MINUTES if options.tiny else MINUTES)
    for sent in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sent, lambda *_: ENDED.set())
    with (options.out or Path(os.devnull)).open("w") as file:
        return 1 if any("failed" in found for _, found in run_all(options, file)) else 0


def run_all(options: argparse.Namespace, file: IO[str]) -> list[tuple[Part, dict[str, Any]]]:
    """Prints each part's results as soon as it is done, and writes them to `file`."""
    ends = time.monotonic() + 60 * options.minutes
    results = []
    with ThreadPoolExecutor(TINY_AT_ONCE if options.tiny else 1) as pool:
        for part, found in zip(PARTS, pool.map(partial(run, options=options, ends=ends), PARTS), strict=True):
            results.append((part, found))
            show(json.dumps({"part": part.title, **found}), file)
    show("\n".join(["", *table(results)]), file)
    return results


def show(text: str, file: IO[str]) -> None:
    for one in (file, sys.stdout):
        one.write(f"{text}\n")
        one.flush()


def run(part: Part, options: argparse.Namespace, *, ends: float) -> dict[str, Any]:
    """Its results with its seconds; `not_run`, `failed` or `cut` with the reason, the last with what it had printed."""
    if missing := [NAMES.get(name, name) for name in part.modules if importlib.util.find_spec(name) is None]:
        return {"not_run": f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed"}
    left = ends - time.monotonic()
    if ENDED.is_set() or left < LEAST_SECONDS:
        return {
            "not_run": "ended by a signal" if ENDED.is_set() else f"no time was left of {options.minutes:g} minutes"
        }
    limit = left if options.tiny else min(left, 60 * options.minutes * part.share)
    environment = {**os.environ, **(TINY_ENVIRONMENT if options.tiny else {})}
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            arguments(part, options), env=environment, stdout=printed, stderr=errors, start_new_session=True
        )
        while process.poll() is None and time.monotonic() < began + limit and not ENDED.is_set():
            time.sleep(POLL_SECONDS)
        status = process.poll()
        if status is None:
            os.killpg(process.pid, signal.SIGKILL)  # it has processes of its own, which hold the GPU
            process.wait()
        found = {"wall_seconds": round(time.monotonic() - began, 1), **last_result(printed)}
        if status is None:
            why = "a signal" if ENDED.is_set() else f"its limit of {limit:.0f} s"
            return {"cut": f"ended by {why}", **found}
        errors.seek(0)
        return {"failed": errors.read().strip()[-2000:] or f"exit status {status}", **found} if status else found


def last_result(printed: IO[str]) -> dict[str, Any]:
    """Of the lines of JSON that a part has printed, each with all results until then; empty without one."""
    printed.seek(0)
    for line in reversed(printed.readlines()):
        if line.startswith("{") and line.endswith("}\n"):
            return dict(json.loads(line))
    return {}


def arguments(part: Part, options: argparse.Namespace) -> list[str]:
    more = ["--small", *part.only_tiny] if options.tiny else [*part.only_real]
    if options.peak_tflops and part.command[0] == "benchmarks.gpu.learner":
        more += ["--peak-tflops", str(options.peak_tflops)]
    return [sys.executable, "-m", *part.command, *more]


def table(results: list[tuple[Part, dict[str, Any]]]) -> Iterator[str]:
    yield "| part | result |"
    yield "|---|---|"
    for part, found in results:
        reasons = {"not run": found.get("not_run"), "failed": found.get("failed"), "cut": found.get("cut")}
        shown = [f"{name} {_text(found[name])}" for name in part.shown if found.get(name) is not None]
        why = [f"{name}: {text.strip().splitlines()[-1]}" for name, text in reasons.items() if text]
        yield f"| {part.title} | {', '.join([*why, *shown])} |"


def _text(value: Any) -> str:
    """Of nested results the seconds of phases, and bytes and seconds."""
    if not isinstance(value, dict):
        return str(value)
    shown = ("time/", "cluster/sync_gb", "bytes", "seconds", "once", "each_step")
    return ", ".join(f"{name} {one}" for name, one in value.items() if name.startswith(shown))


if __name__ == "__main__":
    sys.exit(main())
