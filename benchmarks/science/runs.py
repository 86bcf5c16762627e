"""Trains what an experiment asks for, one run after the other. What is finished is kept, what was cut off goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.science.experiment import Arm, Experiment
from engine.events import Event, RunFinished, parse_event


def train_all(experiment: Experiment, place: Path) -> Iterator[tuple[Arm, int, Path]]:
    """`(arm, seed, run directory)` as each is done; seeds outermost, so that a cut-off sweep has whole seeds."""
    for seed in experiment.seeds:
        for arm in experiment.arms:
            directory = place / experiment.name / f"{slug(arm.label)}-{seed}"
            if not is_finished(directory):
                train(experiment, arm, seed, directory)
            yield arm, seed, directory


def train(experiment: Experiment, arm: Arm, seed: int, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    config = directory / "asked.json"
    asked = experiment.config(arm, seed).model_dump_json(indent=1)
    if config.exists() and json.loads(config.read_text()) != json.loads(asked):
        raise SystemExit(f"{directory} was made with another configuration; move it away to train this one.")
    begun = (directory / "events.jsonl").exists()
    config.write_text(asked)
    command = [sys.executable, "-m", "engine", "train", str(config), "--run-dir", str(directory), "--quiet"]
    subprocess.run([*command, "--resume"] if begun else command, check=True)


def is_finished(directory: Path) -> bool:
    events = directory / "events.jsonl"
    return events.exists() and isinstance(read_events(directory)[-1], RunFinished)


def read_events(directory: Path) -> list[Event]:
    return [parse_event(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]


def slug(label: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in label.lower()).strip("-")
