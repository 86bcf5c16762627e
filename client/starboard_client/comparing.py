"""Runs beside each other: the settings that differ, the newest value of each metric, and held-out success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starboard_client.models import Evaluation, RunDetail

METRICS = ("rollout/success", "reward/mean", "policy/entropy", "optim/grad_norm")


def differing_settings(runs: Sequence[RunDetail]) -> dict[str, list[Any]]:
    """By dotted field, the value of each run; None for a run without the field."""
    flat = [flatten(run.config) for run in runs]
    names = dict.fromkeys(name for one in flat for name in one)
    found = {name: [one.get(name) for one in flat] for name in names}
    return {name: values for name, values in found.items() if any(value != values[0] for value in values)}


def newest_metrics(runs: Sequence[RunDetail], names: Sequence[str] = ()) -> dict[str, list[float | None]]:
    """The metrics `names`; without them the usual ones that any of the runs has."""
    known = {name for run in runs for name in run.metrics}
    wanted = list(names) or [name for name in METRICS if name in known]
    return {name: [run.metrics.get(name) for run in runs] for name in wanted}


def newest_held_out(evaluations: Sequence[Sequence[Evaluation]]) -> dict[str, list[Evaluation | None]]:
    """By environment, the newest of each run's evaluations, which are oldest first; None for a run without any."""
    newest = [{one.environment: one for one in of_run} for of_run in evaluations]
    names = dict.fromkeys(name for one in newest for name in one)
    return {name: [one.get(name) for one in newest] for name in names}


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Leaves by dotted name: `{"loss": {"clip": 1}}` is `{"loss.clip": 1}`."""
    if isinstance(value, Mapping) and value:
        pairs = [(str(name), part) for name, part in value.items()]
    elif isinstance(value, list) and any(isinstance(part, Mapping) for part in value):
        pairs = [(str(index), part) for index, part in enumerate(value)]
    else:
        return {prefix: value}
    leaves: dict[str, Any] = {}
    for name, part in pairs:
        leaves |= flatten(part, f"{prefix}.{name}" if prefix else name)
    return leaves
