"""How long runs still take, by the steps of earlier runs of the same environment with the same model."""

from __future__ import annotations

from statistics import median
from typing import Any

from webapp.runs.models import Run
from webapp.sweeps.estimates import rates_of


class Durations:
    """Reads the rates of each environment with each model once."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, str], list[float]] = {}

    def left(self, run: Run) -> float | None:
        """Seconds of training, by its own steps once it has some; None without any to go by."""
        own = run.eta_seconds()
        if own is not None:
            return own
        rates = self._rates_of(run.config)
        if not rates:
            return None
        size = int(run.config["rollout"]["groups"]) * int(run.config["rollout"]["group_size"])
        return max(0, run.total_steps - run.step) * size * median(rates)

    def why_unknown(self, run: Run) -> str:
        """For a run without an estimate."""
        kind, model = key_of(run.config)
        return f"No earlier run of {kind} with {model}."

    def _rates_of(self, config: dict[str, Any]) -> list[float]:
        key = key_of(config)
        if key not in self._rates:
            self._rates[key] = rates_of(*key)
        return self._rates[key]


def key_of(config: dict[str, Any]) -> tuple[str, str]:
    return str(config["environments"][0]["kind"]), str(config["model"]["path"])
