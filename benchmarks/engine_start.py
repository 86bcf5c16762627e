"""Processor seconds until an engine has its libraries and the small model, with and without `engine.quick_imports`.

Both in turn, each in a process of its own, and the medians are compared: a processor second depends less on what else
the machine does than a second.

    python -m benchmarks.engine_start [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

START = """
import resource
from contextlib import nullcontext
from engine.quick_imports import quick_imports
with {block}():
    import engine.training.session
from engine.policies.loading import load_model
load_model("tiny")
use = resource.getrusage(resource.RUSAGE_SELF)
print(use.ru_utime + use.ru_stime)
"""
BLOCKS = {"quick": "quick_imports", "plain": "nullcontext"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rounds = [{name: processor_seconds(block) for name, block in BLOCKS.items()} for _ in range(options.rounds)]
    quick, plain = (statistics.median(one[name] for one in rounds) for name in BLOCKS)
    result = {
        "benchmark": "engine_start",
        "rounds": options.rounds,
        "quick_processor_seconds": round(quick, 2),
        "plain_processor_seconds": round(plain, 2),
        "ratio": round(quick / plain, 2),
    }
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


def processor_seconds(block: str) -> float:
    command = [sys.executable, "-c", START.format(block=block)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
