"""How long a training step takes and where the time goes: the starter preset, 16 groups x 8 on FrozenLake.

`python -m benchmarks.engine_step` prints one JSON line. The first steps warm up and are left out.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

from engine.config import RunConfig, read_config
from engine.events import StepCompleted, parse_event
from engine.training.session import train

STARTER = Path(__file__).parent.parent / "engine" / "configs" / "starter.toml"
STEPS, WARM_UP = 16, 4
PARTS = ("time/step", "time/rollout", "time/diagnostics", "time/update", "time/capture")


def main() -> int:
    overrides = [f"steps={STEPS}", "evaluation.every=0", "evaluation.at_start=false", "evaluation.final_episodes=1"]
    steps = run(read_config(STARTER, overrides))
    result = {part: median(steps, part) for part in PARTS}
    diagnosed = [s for s in steps if "time/diagnostics" in s]
    result["diagnostics_share_at_cadence"] = (
        sum(s["time/diagnostics"] for s in diagnosed) / sum(s["time/step"] for s in steps) if diagnosed else 0.0
    )
    result["sampled_tokens_per_second"] = median(steps, "perf/sampled_tokens_per_second")
    result["trained_tokens_per_second"] = median(steps, "perf/trained_tokens_per_second")
    sys.stdout.write(json.dumps({"benchmark": "engine_step", **{k: round(v, 4) for k, v in result.items()}}) + "\n")
    return 0


def run(config: RunConfig) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as directory:
        if train(config, Path(directory)):
            raise SystemExit("the run failed; see its events")
        lines = (Path(directory) / "events.jsonl").read_bytes().splitlines()
    events = [parse_event(line) for line in lines]
    return [event.metrics for event in events if isinstance(event, StepCompleted) and event.step > WARM_UP]


def median(steps: list[dict[str, float]], name: str) -> float:
    values = [step[name] for step in steps if name in step]
    return statistics.median(values) if values else 0.0


if __name__ == "__main__":
    sys.exit(main())
