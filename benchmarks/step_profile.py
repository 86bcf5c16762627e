"""Where a training step's time goes: by phase, and in each phase by what the processor does.

    python -m benchmarks.step_profile --steps 4

A few steps run twice: plain, for the seconds, and under torch's profiler, for the shares. The profiler slows small
operations down, so its shares lean towards what is called often; "outside torch" is Python, tokenizer and environments.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile

from engine.config import RunConfig, read_config
from engine.cpu_threads import limit_thread_spinning
from engine.training.session import train
from engine.training.step_benchmark import WARM_UP, step_times, without_evaluations
from engine.training.trainer import PHASE

STARTER = Path(__file__).parent.parent / "engine" / "configs" / "starter.toml"
PHASES = ("rollout", "diagnostics", "update", "capture")
KINDS = {  # the first kind with a pattern in the operation's name
    "matrix products": ("mm", "linear", "matmul"),
    "attention": ("attention",),
    "log-probabilities and softmax": ("softmax", "logsumexp"),
    "drawing tokens": ("multinomial", "sort", "topk", "exponential", "random", "uniform"),
    "optimizer": ("adam", "foreach", "optimizer"),
    "moving memory": (
        "copy",
        "cat",
        "index",
        "gather",
        "scatter",
        "embedding",
        "clone",
        "fill",
        "zero",
        "empty",
        "nonzero",
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, nargs="?", default=STARTER)
    parser.add_argument("--steps", type=int, default=4, help="steps that count, after some that warm up")
    options = parser.parse_args()
    limit_thread_spinning()
    config = read_config(options.config)
    plain = step_times(config, steps=options.steps)
    shares = profiled_shares(config, steps=options.steps)
    seconds = {phase: plain[f"time/{phase}"] for phase in PHASES}
    print(json.dumps({"benchmark": "step_profile", "step_seconds": plain["time/step"], "seconds": seconds, **shares}))
    return 0


def profiled_shares(config: RunConfig, *, steps: int) -> dict[str, dict[str, dict[str, float]]]:
    """Of each phase: the share of its time that each kind of operation takes, largest first."""
    with tempfile.TemporaryDirectory() as directory, profile(activities=[ProfilerActivity.CPU]) as profiler:
        train(without_evaluations(config, steps), Path(directory))
    events = profiler.events()
    assert events is not None
    spans = sorted((one for one in events if one.name.startswith(PHASE)), key=lambda one: one.time_range.start)
    rollouts = [index for index, span in enumerate(spans) if span.name == PHASE + "rollout"]
    wall: Counter[str] = Counter()
    inside: dict[str, Counter[str]] = defaultdict(Counter)
    for span in spans[rollouts[WARM_UP] :]:
        phase = span.name.removeprefix(PHASE)
        wall[phase] += span.time_range.elapsed_us()
        inside[phase].update(by_kind(below(span)))
    return {"shares": {phase: shares(inside[phase], wall[phase]) for phase in PHASES if wall[phase]}}


def below(span: FunctionEvent) -> Iterable[FunctionEvent]:
    for child in span.cpu_children:
        yield child
        yield from below(child)


def by_kind(events: Iterable[FunctionEvent]) -> Counter[str]:
    """Microseconds spent in the operations themselves, without those that they called."""
    found: Counter[str] = Counter()
    for event in events:
        found[kind_of(event.name)] += event.self_cpu_time_total
    return found


def kind_of(name: str) -> str:
    lowered = name.lower()
    return next((kind for kind, words in KINDS.items() if any(word in lowered for word in words)), "other operations")


def shares(kinds: Counter[str], wall: float) -> dict[str, float]:
    outside = wall - sum(kinds.values())
    return {kind: round(spent / wall, 3) for kind, spent in (*kinds.most_common(), ("outside torch", outside))}


if __name__ == "__main__":
    sys.exit(main())
