"""How long runs still take, by earlier runs of the same environment with the same model."""

from __future__ import annotations

from typing import Any

from webapp.runs.models import Run
from webapp.sweeps.estimates import Pace, pace_of


class Durations:
    """Reads the pace of each environment with each model once."""

    def __init__(self) -> None:
        self._paces: dict[tuple[str, str], Pace | None] = {}

    def left(self, run: Run) -> float | None:
        """Seconds of training, by its own steps once it has some; None without any to go by."""
        own = run.eta_seconds()
        if own is not None:
            return own
        pace = self._pace_of(run.config)
        if pace is None:
            return None
        size = int(run.config["rollout"]["groups"]) * int(run.config["rollout"]["group_size"])
        return pace.seconds(max(0, run.total_steps - run.step) * size)

    def why_unknown(self, run: Run) -> str:
        """For a run without an estimate."""
        kind, model = key_of(run.config)
        return f"No earlier run of {kind} with {model}."

    def _pace_of(self, config: dict[str, Any]) -> Pace | None:
        key = key_of(config)
        if key not in self._paces:
            self._paces[key] = pace_of(*key)
        return self._paces[key]


def key_of(config: dict[str, Any]) -> tuple[str, str]:
    return str(config["environments"][0]["kind"]), str(config["model"]["path"])
