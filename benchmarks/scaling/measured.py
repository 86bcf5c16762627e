"""Measurements as the seconds that each part of a step took, and the costs that fit them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scaling.fit import costs, held_out_errors, relative_errors
from benchmarks.scaling.phases import PARTS, work_of
from benchmarks.scaling.shapes import shape_of
from benchmarks.scaling.steps import Step
from engine.policies.model_shape import ModelShape

Busy = dict[str, dict[str, float]]  # by phase and role
BESIDE = frozenset({"environment", "indexing"})  # in sampling already, and in another process
DRIVEN = ("sampling", "scoring", "learning", "sync", "diagnostics")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The fastest repetition of each part at one point, in processor seconds of the process that had most to do."""

    point: str
    shape: ModelShape
    step: Step
    seconds: dict[str, float]

    @property
    def whole(self) -> float:
        return sum(seconds for part, seconds in self.seconds.items() if part not in BESIDE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Means of absolute relative errors: of the fit; where all points of the same processes are left out of it; and
    where all of the same model are. The worst is of the second kind."""

    part: str
    fitted: float
    without_processes: float
    without_model: float
    worst: float
    worst_point: str


def read(path: Path) -> list[Measured]:
    lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in path.read_text().splitlines():
        found = json.loads(line)
        lines[found["point"]].append(found)
    return [_measured(point, found) for point, found in lines.items()]


def _measured(point: str, lines: list[dict[str, Any]]) -> Measured:
    step = Step(**lines[0]["step"])
    each = [parts_of(line["busy"], step) for line in lines]
    return Measured(
        point=point,
        shape=shape_of(lines[0]["shape"]),
        step=step,
        seconds={part: min(one[part] for one in each) for part in PARTS},
    )


def parts_of(busy: Busy, step: Step) -> dict[str, float]:
    """Seconds by part. A sync is the learner's work and then the sampler's; the driver's own is everywhere."""
    return {
        "environment": busy["environment"]["driver"] * step.sampler_share,
        "sampling": busy["sampling"]["sampler"],
        "scoring": busy["scoring"]["learner"],
        "learning": busy["learning"]["learner"],
        "sync": busy["sync"]["learner"] + busy["sync"]["sampler"],
        "diagnostics": busy["diagnostics"]["learner"],
        "driver": busy["collation"]["driver"] + sum(busy[phase]["driver"] for phase in DRIVEN),
        "capture": busy["capture"]["driver"],
        "indexing": busy["indexing"]["driver"],
    }


def fitted(points: Sequence[Measured]) -> dict[str, dict[str, float]]:
    """Costs by part and term."""
    found = {}
    for part, terms in PARTS.items():
        work, seconds = _table(part, points)
        found[part] = dict(zip(terms, costs(work, seconds).tolist(), strict=True))
    return found


def quality(points: Sequence[Measured]) -> list[Quality]:
    """Of each part, and of the whole step."""
    models = [point.point.partition(",")[0] for point in points]
    processes = [
        f"{model}, {point.step.samplers}, {point.step.learners}" for model, point in zip(models, points, strict=True)
    ]
    found, whole = [], np.array([point.whole for point in points])
    sums = np.zeros((3, len(points)))  # seconds by the fit and by both kinds of holding out
    for part in PARTS:
        work, seconds = _table(part, points)
        errors = np.array(
            [
                relative_errors(costs(work, seconds), work, seconds),
                held_out_errors(work, seconds, processes),
                held_out_errors(work, seconds, models),
            ]
        )
        found.append(_quality(part, errors, points))
        if part not in BESIDE:
            sums += (1 + errors) * seconds
    return [*found, _quality("step", sums / whole - 1, points)]


def _table(part: str, points: Sequence[Measured]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    work = np.array([work_of(part, point.shape, point.step) for point in points], dtype=float)
    return work, np.array([point.seconds[part] for point in points])


def _quality(part: str, errors: np.ndarray[Any, Any], points: Sequence[Measured]) -> Quality:
    index = int(np.abs(errors[1]).argmax())
    fit, without_processes, without_model = np.abs(errors).mean(axis=1).tolist()
    return Quality(
        part=part,
        fitted=fit,
        without_processes=without_processes,
        without_model=without_model,
        worst=float(errors[1, index]),
        worst_point=points[index].point,
    )
