"""All measurements for a machine with a GPU, in one command and within ten minutes: one JSON line each, then a table.

    python -m benchmarks.gpu [--tiny] [--minutes N] [--peak-tflops X]

Needs torch, transformers and pydantic; vLLM for its part of sampling, Ray and vLLM for whole steps. Weights are random
and made here. A part that cannot run or has no time left is named with its reason, and the others run. `--tiny` takes
the same path with very small models, on any machine: it shows that everything works, and measures nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MINUTES, TINY_MINUTES = 10.0, 60.0
LEAST_SECONDS = 15.0  # a part is not begun with less


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
        title="log-probabilities and entropies",
        command=["benchmarks.head_scores"],
        share=0.1,
        only_real=("--tokens", "4096"),
        only_tiny=("--tokens", "256"),
        shown=("chunks", "plain", "trl", "verl"),
    ),
    Part(
        title="sampling, 0.5B",
        command=["benchmarks.gpu.sampler"],
        share=0.3,
        shown=("vllm_tokens_per_second", "bare_vllm_tokens_per_second", "of_bare_vllm", "ours_tokens_per_second"),
    ),
    Part(
        title="whole steps, colocated, with their weight sync",
        command=["benchmarks.gpu.ray_run", "--only", "colocated", "--steps", "2"],
        share=0.4,
        modules=("ray",),
        only_tiny=("--sampler", "torch"),
        shown=("colocated",),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="very small models, on any machine")
    parser.add_argument("--minutes", type=float, help=f"that all parts may take together; {MINUTES:g} without --tiny")
    parser.add_argument("--peak-tflops", type=float, help="of the GPU, where the table of peaks lacks it")
    options = parser.parse_args()
    options.minutes = options.minutes or (TINY_MINUTES if options.tiny else MINUTES)
    ends = time.monotonic() + 60 * options.minutes
    results = []
    for part in PARTS:
        found = run(part, options, left=ends - time.monotonic())
        results.append((part, found))
        sys.stdout.write(json.dumps({"part": part.title, **found}) + "\n")
        sys.stdout.flush()
    sys.stdout.write("\n".join(["", *table(results)]) + "\n")
    return 1 if any("failed" in found for _, found in results) else 0


def run(part: Part, options: argparse.Namespace, *, left: float) -> dict[str, Any]:
    """Its results with its seconds; `not_run` or `failed` with the reason."""
    if missing := [name for name in part.modules if importlib.util.find_spec(name) is None]:
        return {"not_run": f"{', '.join(missing)} is not installed."}
    if left < LEAST_SECONDS:
        return {"not_run": f"No time was left of {options.minutes:g} minutes."}
    began = time.monotonic()
    limit = min(left, 60 * options.minutes * part.share)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(arguments(part, options), start_new_session=True, **pipes)
    try:
        printed, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # it has processes of its own, which hold the GPU
        process.communicate()
        return {"failed": f"It took more than its {limit:.0f} s."}
    if process.returncode:
        return {"failed": errors.strip()[-2000:] or f"exit status {process.returncode}"}
    return {"wall_seconds": round(time.monotonic() - began, 1), **json.loads(printed.splitlines()[-1])}


def arguments(part: Part, options: argparse.Namespace) -> list[str]:
    small = "--tiny" if part.command[0] == "benchmarks.head_scores" else "--small"
    more = [small, *part.only_tiny] if options.tiny else [*part.only_real]
    if options.peak_tflops and part.command[0] == "benchmarks.gpu.learner":
        more += ["--peak-tflops", str(options.peak_tflops)]
    return [sys.executable, "-m", *part.command, *more]


def table(results: list[tuple[Part, dict[str, Any]]]) -> Iterator[str]:
    yield "| part | result |"
    yield "|---|---|"
    for part, found in results:
        failed = found.get("failed", "").strip().splitlines()
        why = found.get("not_run") or (failed[-1] if failed else "")
        shown = ", ".join(f"{name} {_text(found[name])}" for name in part.shown if found.get(name) is not None)
        yield f"| {part.title} | {f'not measured: {why}' if why else shown} |"


def _text(value: Any) -> str:
    """Of nested results the seconds of phases, and bytes and seconds."""
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{name} {one}" for name, one in value.items() if name.startswith(("time/", "bytes", "seconds")))


if __name__ == "__main__":
    sys.exit(main())
