"""Whether threads or processes make environments faster: those that only compute, and those that wait.

The engine's own pool plays a batch of episodes with random actions, in the order a sampler asks for them: the next turn
of each when all have answered. It does so in turn, in threads, and, for what computes, in one process per core with an
equal part each. What waits is a lake behind the HTTP reference server, whose every step takes 20 ms. The ways take
turns, `--rounds` times, and ratios of wall time are of one round. On a machine where other programs run, threads get a
larger share of it, so processor time, over all processes, says whether they save any work.

    python -m benchmarks.environments.pools [--rounds N] [--write DOCUMENT]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.environments.report import write_pools
from benchmarks.environments.worker import ROOT
from engine.config import EnvironmentConfig
from engine.environments.frozen_lake import FrozenLake
from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EnvStateManager, EpisodeSpec
from engine.rollout.environment_pool import local_environments
from engine.rollout.episode import EpisodeStart, TurnOutcome

TURNS = 5
COMPUTED, WAITED = 512, 64  # episodes of a batch
WAIT_SECONDS = 0.02
PROCESSES = os.cpu_count() or 1
COMPUTING = {"Sokoban 6x6": {"kind": "sokoban"}, "2048": {"kind": "game_2048"}}


class Taken(NamedTuple):
    """Seconds."""

    wall: float
    processor: float


class WaitingLake(FrozenLake):
    """What a slow server does."""

    def step(self, action: int) -> Any:
        time.sleep(WAIT_SECONDS)
        return super().step(action)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="times that each is measured, in turn")
    parser.add_argument("--write", type=Path, help="the document whose table to replace")
    options = parser.parse_args()
    result: dict[str, Any] = {"benchmark": "environment_pools", "turns": TURNS}
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("forkserver")) as processes:
        for name, environment in COMPUTING.items():
            config = EnvironmentConfig.model_validate({**environment, "max_turns": TURNS})
            ways = {
                "in turn": partial(played, config),
                "4 threads": partial(played, config, workers=4),
                f"{PROCESSES} processes": partial(played_in_processes, processes, config),
            }
            result[name] = compared(ways, options.rounds)
    with served_lake() as url:
        config = EnvironmentConfig.model_validate({"kind": "http", "parameters": {"url": url}, "max_turns": TURNS})
        waiting = {
            ("in turn" if workers == 0 else f"{workers} threads"): partial(played, config, workers=workers)
            for workers in (0, 4, 16, 64)
        }
        result["HTTP, 20 ms a step"] = compared(waiting, options.rounds)
    sys.stdout.write(json.dumps(result) + "\n")
    if options.write:
        write_pools(options.write, result)
    return 0


def compared(ways: Mapping[str, Callable[[int], Taken]], rounds: int) -> dict[str, dict[str, float]]:
    """Median seconds of each way, and how many times as fast as the first it was in the same round."""
    taken: dict[str, list[Taken]] = {way: [] for way in ways}
    for way in ways.values():
        way(0)  # imports, connections and processes
    for turn in range(1, rounds + 1):
        for index, (name, way) in enumerate(ways.items()):
            taken[name].append(way(COMPUTED * (turn * len(ways) + index)))  # seeds that no cache knows
    first = next(iter(taken.values()))
    return {
        name: {
            "seconds": round(median(one.wall for one in found), 3),
            "processor_seconds": round(median(one.processor for one in found), 3),
            "ratio": round(median(a.wall / b.wall for a, b in zip(first, found, strict=True)), 2),
        }
        for name, found in taken.items()
    }


def played(config: EnvironmentConfig, first_seed: int, *, workers: int = 0) -> Taken:
    """A batch of episodes whose seeds begin with `first_seed`."""
    specs = batch(config, first_seed)
    began = time.monotonic()
    processor = play_batch(specs, workers)
    return Taken(time.monotonic() - began, processor)


def played_in_processes(processes: ProcessPoolExecutor, config: EnvironmentConfig, first_seed: int) -> Taken:
    specs = batch(config, first_seed)
    began = time.monotonic()
    parts = [specs[part::PROCESSES] for part in range(PROCESSES)]
    processor = sum(processes.map(play_batch, parts, [0] * len(parts)))
    return Taken(time.monotonic() - began, processor)


def batch(config: EnvironmentConfig, first_seed: int) -> list[EpisodeSpec]:
    manager = EnvStateManager([config], groups=1, group_size=1, seed=1)
    episodes = WAITED if config.kind == "http" else COMPUTED
    return manager.held_out_batch(config, first_seed=first_seed, episodes=episodes)


def play_batch(specs: list[EpisodeSpec], workers: int) -> float:
    """Plays random actions; the processor time that it took."""
    rng = np.random.default_rng(1)
    began = time.process_time()
    with local_environments(workers) as pool:
        for row, spec in enumerate(specs):
            pool.start(row, spec, think=True)
        while pool.pending:
            for row, result in pool.collect(block=True):
                if isinstance(result, EpisodeStart | TurnOutcome) and result.fault is not None:
                    raise SystemExit(str(result.fault))
                if not result.is_over:
                    action = ("Up", "Down", "Left", "Right")[int(rng.integers(4))]
                    pool.step(row, ParsedResponse(thought="", actions=[action], case="ok"))
    return time.process_time() - began


@contextlib.contextmanager
def served_lake() -> Iterator[str]:
    """The address of a server of `WaitingLake`, in a process of its own."""
    kind = "benchmarks.environments.pools:WaitingLake"
    command = [sys.executable, "-m", "engine", "serve-environment", kind, "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()


if __name__ == "__main__":
    sys.exit(main())
