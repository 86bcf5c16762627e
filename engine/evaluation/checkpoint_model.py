"""Which of a checkpoint's models its run evaluates. No torch."""

from __future__ import annotations

import json
from pathlib import Path

MODEL, AVERAGED = "model", "ema"  # folders of a checkpoint: the trained weights, and their moving average


def evaluated_model(checkpoint: Path) -> Path:
    """The model that belongs to the results of the run: with `evaluation.weights` ema the averaged one."""
    averaged = checkpoint / AVERAGED
    return averaged if averaged.is_dir() and _weights(checkpoint.parent.parent) == "ema" else checkpoint / MODEL


def _weights(run: Path) -> str:
    try:
        return str(json.loads((run / "config.json").read_text(encoding="utf-8"))["evaluation"]["weights"])
    except (OSError, ValueError, KeyError, TypeError):
        return "current"
