"""The experiments, by name: every sweep that ships at a size for two CPU cores. docs/findings.md discusses what each
can show, and which of them have been run."""

from __future__ import annotations

from benchmarks.science.experiment import Experiment
from engine.sweeps.catalogue import sweep_presets

EXPERIMENTS = {key: Experiment(key, sweep) for key, sweep in sweep_presets().items() if sweep.size == "small"}
