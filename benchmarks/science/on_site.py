"""Experiments as sweeps of a site: launched there, where their runs can be opened, and read from there.

The site and the token are those of `starboard login`.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.science.experiment import Experiment
from benchmarks.science.runs import directory_of, is_finished
from starboard_client import Starboard
from starboard_client.errors import StarboardError


def launch(experiment: Experiment, *, jobs: int) -> str:
    """Creates the sweep, and returns the address of its page."""
    count = len(experiment.arms) * len(experiment.seeds)
    with Starboard() as starboard:
        sweep = starboard.create_sweep(
            preset=experiment.name, seeds=experiment.seeds, name=experiment.sweep.title, at_once=jobs, confirm=count
        )
        return f"{starboard.url}/sweeps/{sweep.id}/"


def fetch(experiment: Experiment, sweep_id: int, root: Path) -> None:
    """Writes the events of the sweep's runs where those that are trained here would be; runs that are there stay."""
    with Starboard() as starboard:
        sweep = starboard.sweep(sweep_id)
        for configuration in sweep.configurations:
            arm = next((one for one in experiment.arms if one.label == ", ".join(configuration.labels.values())), None)
            if arm is None:
                raise StarboardError(f"Sweep {sweep_id} has {configuration.labels}, which {experiment.name} has not.")
            for member in configuration.runs:
                if member.run is not None and member.seed in experiment.seeds:
                    _fetch(starboard, member.run, directory_of(experiment.config(arm, member.seed), root))


def _fetch(starboard: Starboard, run_id: str, directory: Path) -> None:
    if is_finished(directory):
        return
    directory.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(event) + "\n" for event in starboard.events(run_id))
    (directory / "events.jsonl").write_text("".join(lines))
