"""Hand-written contents of a run directory: an engine's events and its trajectory files."""

from __future__ import annotations

import json
from typing import Any

from engine.rollout.trajectory_files import write_trajectory_file
from webapp.runs.models import Run


class Record:
    """Writes a run's `events.jsonl` as an engine would."""

    def __init__(self, run: Run) -> None:
        self.path = run.directory / "events.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.seq = 0
        self.attempt = 1

    def event(self, kind: str, *, step: int = 0, **fields: Any) -> None:
        self.seq += 1
        head = {"seq": self.seq, "time": 1000.0 + self.seq, "attempt": self.attempt, "epoch": 1, "step": step}
        with self.path.open("a") as file:
            file.write(json.dumps({"kind": kind, **head, **fields}) + "\n")

    def started(self, *, resumed_from: int | None = None, total_steps: int = 10) -> None:
        self.event(
            "run_started",
            step=resumed_from or 0,
            total_steps=total_steps,
            resumed_from=resumed_from,
            pid=1,
            device="cpu",
            model="tiny",
            parameters=1,
        )

    def step(self, step: int, **metrics: float) -> None:
        metrics = metrics or {"reward/mean": step / 10}
        self.event("step_completed", step=step, metrics=metrics, tokens=100 * step, seconds=2.0 * step)

    def groups(self, step: int, *scores: float) -> None:
        self.event(
            "groups_filtered",
            step=step,
            tags=["FrozenLake"],
            groups=list(range(len(scores))),
            environments=[0] * len(scores),
            seeds=[7] * len(scores),
            returns=[[0.0, score] for score in scores],
            stds=list(scores),
            scores=list(scores),
            kept=[0],
            threshold=scores[0],
        )

    def evaluation(self, step: int, *, final: bool = False) -> None:
        self.event(
            "evaluation_completed",
            step=step,
            environment="FrozenLake",
            episodes=8,
            successes=2,
            success=0.25,
            low=0.1,
            high=0.6,
            mean_return=0.25,
            first_seed=10**9,
            temperature=1.0,
            seconds=1.0,
            faults=2,
            final=final,
        )

    def played(self, step: int, *, solved: str = "11000000", final: bool = False) -> None:
        problems = [f"{problem:016x}" for problem in range(len(solved))]
        self.event(
            "problems_played", step=step, environment="FrozenLake", problems=problems, solved=solved, final=final
        )

    def file(self, run: Run, step: int, members: int = 2) -> None:
        again = "" if self.attempt == 1 else f".{self.attempt}"
        path = f"trajectories/train/step_{step}{again}.jsonl.zst"
        write_trajectory_file(run.directory / path, [trajectory(step=step, member=member) for member in range(members)])
        self.event("trajectories_recorded", step=step, split="train", path=path, count=members)


def trajectory(*, step: int, member: int) -> dict[str, Any]:
    return {
        "id": f"train-{step}-0-{member}",
        "step": step,
        "split": "train",
        "environment": "FrozenLake",
        "kind": "frozen_lake",
        "group": 0,
        "member": member,
        "seed": 7,
        "success": True,
        "return": 1.0,
        "score": 0.9,
        "advantage": None,
        "group_std": 0.5,
        "kept": None,
        "stop": "success",
        "tokens": {"sampled": [0, 1, 1]},
        # one is malformed: of too many actions the first ones are executed
        "turns": [{"parse": "ok"}, {"parse": "no_answer"}, {"parse": "ok", "surplus": 2}],
    }


def recorded(run: Run, *, steps: int = 0, files: bool = False) -> Record:
    """Of an engine that has started and made so many steps, with `files` each with its trajectories."""
    record = Record(run)
    record.started()
    for step in range(1, steps + 1):
        record.step(step)
        if files:
            record.file(run, step)
    return record
