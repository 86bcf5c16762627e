"""Measures steps on Ray, phase by phase, with 1 to 4 samplers and learners, in processor seconds and on the clock.

Every process has one thread. Each phase is reported in processor seconds of the busiest sampler, the busiest learner
and the driver, which depend little on other work on the machine, and in wall-clock seconds, which are meaningful only
if the machine was idle and had a processor for each process. Linux only: it reads the time of each thread from /proc.

    python -m benchmarks.scaling.measure FILE [--only NAME …] [--repeats N]

Lines are appended to FILE, one a repetition.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"}  # Ray's own has actors give way to all else

import numpy as np
import torch

from benchmarks.scaling.phases import PROMPT, PROMPTS, THOUGHT, THOUGHTS
from benchmarks.scaling.shapes import model_at
from benchmarks.scaling.steps import Step
from engine.cluster.ray_backend import RayBackend
from engine.cluster.reporting import RunReporter
from engine.config import RunConfig, build_config
from engine.diagnostics.cross_scores import Pairs
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.batching import Batch, collate
from engine.rollout.env_state_manager import EnvStateManager, EpisodeSpec
from engine.rollout.records import record_of
from engine.rollout.trajectory_files import read_records, write_trajectory_file
from engine.rollout.types import Response, Trajectory
from engine.training.rollout_metrics import rollout_metrics
from engine.training.token_values import tokens_per_forward

RESPONSE, GROUP_SIZE = 40, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One configuration."""

    shape: str
    samplers: int
    learners: int
    groups: int
    turns: int

    @property
    def name(self) -> str:
        return f"{self.shape}, {self.groups * GROUP_SIZE} x {self.turns}, {self.samplers} + {self.learners}"


LOADS = {  # groups and turns, by model and numbers of samplers and learners: these share their processes
    ("9 million", 1, 1): [(2, 2), (4, 3)],
    ("2 million", 2, 2): [(4, 2), (8, 3), (16, 3)],
    ("many words", 1, 1): [(4, 2), (8, 3)],
    ("tiny", 2, 2): [(8, 3), (32, 5)],
    ("9 million", 2, 2): [(4, 2), (6, 3)],
    ("many words", 1, 3): [(8, 2), (12, 3)],
    ("2 million", 3, 1): [(6, 3), (12, 2)],
    ("tiny", 1, 1): [(8, 3), (32, 3)],
    ("9 million", 1, 3): [(6, 2)],
    ("tiny", 3, 4): [(32, 3)],
}
POINTS = [
    Point(shape=shape, samplers=samplers, learners=learners, groups=groups, turns=turns)
    for (shape, samplers, learners), loads in LOADS.items()
    for groups, turns in loads
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", nargs="*", help="names of points, or the beginnings of some")
    parser.add_argument("--repeats", type=int, default=3, help="that count, after one")
    options = parser.parse_args()
    chosen = [point for point in POINTS if not options.only or point.name.startswith(tuple(options.only))]
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        for _, together in groupby(chosen, key=lambda point: (point.shape, point.samplers, point.learners)):
            for point, found in measured(list(together), Path(scratch), repeats=options.repeats):
                line = {"point": point.name, "shape": point.shape, "load": os.getloadavg()[0], **found}
                with options.file.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    return 0


def config_of(point: Point, model: str) -> RunConfig:
    return build_config(
        {
            "backend": "ray",
            "threads": 1,
            "model": {"path": model},
            "environments": [{"kind": "frozen_lake", "max_turns": point.turns, "max_response_tokens": RESPONSE}],
            "rollout": {"groups": point.groups, "group_size": GROUP_SIZE},
            "optimizer": {"updates_per_step": 1, "learning_rate": 1e-9},
            "cluster": {"sampler": "torch", "samplers": point.samplers, "learners": point.learners},
        }
    )


def measured(points: list[Point], scratch: Path, *, repeats: int) -> Iterator[tuple[Point, dict[str, Any]]]:
    """Of points that differ in what is played alone."""
    first = points[0]
    config = config_of(first, model_at(first.shape, scratch))
    backend, _ = RayBackend.open(config, None, scratch, RunReporter(status=ignored, warn=warned))
    try:
        for point in points:
            config = config_of(point, config.model.path)
            manager = EnvStateManager(
                config.environments, groups=point.groups, group_size=GROUP_SIZE, seed=config.seed, refills=0
            )
            specs = manager.training_batch(1)  # the same each time, so that the fastest says something
            found = [one_step(point, backend, config, specs, repeat, scratch) for repeat in range(1 + repeats)]
            yield from ((point, one) for one in found[1:])
    finally:
        backend.close()


def warned(message: str, **_: object) -> None:
    sys.stderr.write(f"{message}\n")


def ignored(said: str) -> None:
    """Nobody listens."""


def one_step(
    point: Point, backend: RayBackend, config: RunConfig, specs: list[EpisodeSpec], repeat: int, scratch: Path
) -> dict[str, Any]:
    clock = Clock(backend, config)
    clock.time("environment", lambda: play_without_a_model(backend, config, specs))
    trajectories, sampled = clock.time("sampling", lambda: backend.play(specs, temperature=1.0, seeds=[1]))
    batch = clock.time("collation", lambda: gathered(trajectories))
    # the backend leaves scoring out where the sampler computes what the learner does; others need it
    clock.time("scoring", lambda: backend._call_learners("Scoring", "score", batch))
    clock.time("learning", lambda: backend.update(batch, step=1 + repeat, scale=1.0))
    clock.time("sync", backend.sync_weights)
    clock.time("diagnostics", lambda: backend.cross_scores(made_up_pairs(repeat)))
    path = scratch / "capture.jsonl.zst"
    clock.time("capture", lambda: captured(path, trajectories, backend))
    clock.time("indexing", lambda: list(read_records(path)))  # as the worker does that makes rows of them
    work = step_of(point, config, trajectories, batch, sampled)
    return {"step": asdict(work), "file_bytes": path.stat().st_size, **clock.found()}


class Clock:
    """Seconds by phase, on the clock and of processors."""

    def __init__(self, backend: RayBackend, config: RunConfig) -> None:
        pool = backend._pool()
        pids = [location.pid for location in pool.locations]
        self.roles = {
            "learner": pids[: config.cluster.learners],
            "sampler": pids[config.cluster.learners :],
            "driver": [os.getpid()],
        }
        self.wall: dict[str, float] = {}
        self.busy: dict[str, dict[str, float]] = {}

    def time(self, phase: str, work: Callable[[], Any]) -> Any:
        before = {pid: processor_seconds(pid) for pids in self.roles.values() for pid in pids}
        began = time.perf_counter()
        result = work()
        self.wall[phase] = time.perf_counter() - began
        self.busy[phase] = {
            role: max(processor_seconds(pid) - before[pid] for pid in pids) for role, pids in self.roles.items()
        }
        return result

    def found(self) -> dict[str, Any]:
        return {"wall": self.wall, "busy": self.busy}


def processor_seconds(pid: int) -> float:
    """Of all its threads that live."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def gathered(trajectories: list[Trajectory]) -> Batch:
    """What the driver does with trajectories before anybody learns."""
    rollout_metrics(trajectories)
    return collate(trajectories)


def captured(path: Path, trajectories: list[Trajectory], backend: RayBackend) -> None:
    def piece(token: int) -> str:
        return backend.context.text([token])

    advantages = [0.5] * max(len(trajectory.ids) for trajectory in trajectories)
    records = [record_of(one, step=1, split="train", piece=piece, advantages=advantages) for one in trajectories]
    write_trajectory_file(path, records)


def made_up_pairs(seed: int) -> Pairs:
    draw = np.random.default_rng(seed)
    prompts = draw.integers(10, 600, (PROMPTS, PROMPT)).tolist()
    thoughts = draw.integers(10, 600, (THOUGHTS, THOUGHT)).tolist()
    return Pairs(prompts=prompts, thoughts=thoughts, true_column=[index % PROMPTS for index in range(THOUGHTS)])


class Scripted:
    """A policy that costs nothing: every response is the same tokens."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.asked.append((row, max_tokens))

    def restart(self, row: int) -> None:
        """It remembers nothing."""

    def release(self, row: int) -> None:
        """It remembers nothing."""

    def advance(self, *, block: bool = True) -> list[Response]:
        asked, self.asked = self.asked, []
        return [
            Response(row=row, ids=[20] * most, logprobs=[-1.0] * most, entropies=[1.0] * most, ended=False)
            for row, most in asked
        ]


def play_without_a_model(backend: RayBackend, config: RunConfig, specs: list[EpisodeSpec]) -> None:
    proxy = AgentProxy.of(config.rollout, backend.context, max_context_tokens=config.rollout.max_context_tokens)
    proxy.rollout(Scripted(), specs)


def step_of(point: Point, config: RunConfig, trajectories: list[Trajectory], batch: Batch, sampled: int) -> Step:
    rows = torch.arange(len(batch))
    most = tokens_per_forward(config.optimizer, torch.device("cpu"))
    return Step(
        trajectories=len(trajectories),
        group_size=GROUP_SIZE,
        turns=sum(len(trajectory.turns) for trajectory in trajectories),
        tokens=sum(len(trajectory.ids) for trajectory in trajectories),
        sampled=sampled,
        prompted=sum(trajectory.turns[0].response_start for trajectory in trajectories if trajectory.turns),
        passes=max(sum(turn.response_end - turn.response_start for turn in one.turns) for one in trajectories),
        parts=len(batch.micro_batches(rows, max_tokens=most)),
        samplers=point.samplers,
        learners=point.learners,
    )


if __name__ == "__main__":
    sys.exit(main())
