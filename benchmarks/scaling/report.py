"""Markdown tables: how well the model fits, what things cost here, and its predictions for GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from benchmarks.operations import qwen2
from benchmarks.scaling.hardware import H100, Assumed
from benchmarks.scaling.large import LARGE
from benchmarks.scaling.measured import Measured, fitted, quality
from benchmarks.scaling.phases import PARTS, seconds_of
from benchmarks.scaling.predict import Costs, Placement, best_placement, bottleneck, fits, parts_of, step_seconds

GPUS = (8, 64, 512)
FIXED, PER_GPU = 1024, 64  # trajectories
STEP_VALUES, ROW_VALUES = 75, 21  # of a step's row, in runs recorded here; columns of a trajectory's row
EVENT_BYTES = 3000  # of a step's events, in the same runs
SHARES = frozenset({"learning", "single", "reading", "memory", "links"})  # at most 1
DIVIDING = frozenset({"memory_share", "room"})  # these say how GPUs are divided
INGESTED = 870_000  # values a second into rows, by benchmarks.ingestion on this machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A model on some GPUs."""

    model: str
    gpus: int
    placement: Placement
    parts: dict[str, float]

    @property
    def seconds(self) -> float:
        return step_seconds(self.parts)


def cells(costs: Costs, *, grows: bool) -> list[Cell]:
    """`grows`: the more GPUs, the more trajectories; else as many on all."""
    found = []
    for model, sizes in LARGE.items():
        for gpus in GPUS:
            trajectories = gpus * PER_GPU if grows else FIXED
            placement = best_placement(qwen2(sizes), gpus, trajectories, gpu=H100, costs=costs)
            found.append(Cell(model=model, gpus=gpus, placement=placement, parts=parts_of(placement, costs)))
    return found


def points_table(points: Sequence[Measured], costs: Costs) -> str:
    """One row a configuration: processor seconds of the busiest process, measured and by the fit."""
    rows = [
        [
            point.point,
            f"{point.step.tokens:,.0f}",
            *(
                f"{point.seconds[part]:.3g} / {seconds_of(part, costs, point.shape, point.step):.3g}"
                for part in ("sampling", "scoring", "learning", "sync", "diagnostics", "driver", "capture")
            ),
        ]
        for point in points
    ]
    head = "model, trajectories x turns, samplers + learners|tokens|sampling|scoring|learning|sync|diagnostics|driver"
    return table([*head.split("|"), "capture"], rows)


def quality_table(points: Sequence[Measured]) -> str:
    rows = [
        [
            one.part,
            *(f"{error:.0%}" for error in (one.fitted, one.without_processes, one.without_model)),
            f"{one.worst:+.0%}, {one.worst_point}",
        ]
        for one in quality(points)
    ]
    head = ["part", "of the fit", "its processes held out", "its model held out", "worst, its processes held out"]
    return table(head, rows)


def costs_table(costs: Costs) -> str:
    rows = [
        [part, f"{costs[part][name]:.2g} s", f"for each {term.unit}"]
        for part, terms in PARTS.items()
        for name, term in terms.items()
        if costs[part][name]
    ]
    return table(["part", "cost", ""], rows)


def predictions_table(found: Sequence[Cell]) -> str:
    head = ["model", "GPUs", "samplers + learners", "trajectories", "sampling", "environments", "scoring", "learning"]
    head += ["diagnostics", "driver", "capture", "sync", "**step**", "first bottleneck", "as it is"]
    names = ("sampling", "environment", "scoring", "learning", "diagnostics", "driver", "capture", "sync")
    rows = [
        [
            cell.model,
            str(cell.gpus),
            f"{cell.placement.samplers} x {cell.placement.tensor_parallel} + {cell.placement.learners}",
            f"{cell.placement.trajectories:,}",
            *(short(cell.parts[name]) for name in names),
            f"**{short(cell.seconds)}**",
            bottleneck(cell.parts),
            fits(cell.placement) or "fits",
        ]
        for cell in found
    ]
    return table(head, rows)


def remedies_table(found: Sequence[Cell], costs: Costs) -> str:
    """Seconds of a step as it is, and with one thing after the other taken away."""
    rows = []
    for cell in found:
        by_gpu = parts_of(cell.placement, costs, by_gpu=True)
        thin = {**by_gpu, "capture": by_gpu["capture"] / 10}
        distributed = {**thin, "capture": 0.0, "driver": by_gpu["driver"] / cell.placement.samplers}
        steps = [cell.parts, by_gpu, thin, distributed]
        rows.append([cell.model, str(cell.gpus), *(f"{short(step_seconds(one))}, {bottleneck(one)}" for one in steps)])
    head = ["model", "GPUs", "as it is", "sync by GPU", "and every tenth step captured"]
    return table([*head, "and both shared out to the samplers"], rows)


def rates_table(found: Sequence[Cell], costs: Costs, file_bytes: float) -> str:
    """What a run writes, and what the site's worker does with it, where each step is captured."""
    rows = []
    for cell in found:
        step, values = cell.placement.step, STEP_VALUES + ROW_VALUES * cell.placement.trajectories
        indexing = seconds_of("indexing", costs, cell.placement.shape, step)
        rows.append(
            [
                cell.model,
                f"{EVENT_BYTES / cell.seconds:,.0f}",
                f"{1 / cell.seconds:.2g}",
                f"{cell.placement.trajectories / cell.seconds:,.0f}",
                f"{values / cell.seconds:,.0f} ({values / cell.seconds / INGESTED:.1%})",
                f"{file_bytes * step.tokens / cell.seconds / 1e6:,.1f}",
                f"{indexing / cell.seconds:.0%}",
            ]
        )
    head = ["model", "event bytes/s", "metric rows/s", "trajectory rows/s", f"values/s (of {INGESTED:,})"]
    return table([*head, "trajectory files, MB/s", "one worker, reading them"], rows)


def sensitivity_table(usual: Sequence[Cell], costs: Costs) -> str:
    """For each assumption, halved and doubled: by how much steps change, and how many first bottlenecks do. GPUs stay
    divided as they were."""
    rows = []
    for name in (one.name for one in fields(Assumed)):
        value = getattr(Assumed(), name)
        if name in DIVIDING:
            continue
        doubled = min(2 * value, 1.0) if name in SHARES else 2 * value
        less, more = (_changed(usual, costs, replace(Assumed(), **{name: to})) for to in (value / 2, doubled))
        rows.append([f"`{name}`", f"{value:g}", *less, f"{doubled:g}", *more])
    head = ["assumption", "usual", "half of it: steps, times", "other bottlenecks", "or", "steps, times"]
    return table([*head, "other bottlenecks"], rows)


def _changed(usual: Sequence[Cell], costs: Costs, assumed: Assumed) -> tuple[str, str]:
    others = [parts_of(replace(cell.placement, assumed=assumed), costs) for cell in usual]
    ratios = [step_seconds(other) / cell.seconds for other, cell in zip(others, usual, strict=True)]
    moved = sum(bottleneck(other) != bottleneck(cell.parts) for other, cell in zip(others, usual, strict=True))
    return f"{min(ratios):.2f} to {max(ratios):.2f}", f"{moved} of {len(usual)}"


def short(seconds: float) -> str:
    """Two digits, and no more below a millisecond."""
    if seconds < 0.0005:
        return "0"
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tables(points: Sequence[Measured], file_bytes: float) -> dict[str, str]:
    """By the name under which `docs/scaling.md` has them."""
    costs = fitted(points)
    growing, fixed = cells(costs, grows=True), cells(costs, grows=False)
    widest = [cell for cell in growing if cell.gpus == GPUS[-1]]
    return {
        "measured": points_table(points, costs),
        "quality": quality_table(points),
        "costs": costs_table(costs),
        "growing": predictions_table(growing),
        "fixed": predictions_table(fixed),
        "remedies": remedies_table(growing, costs),
        "rates": rates_table(widest, costs, file_bytes),
        "sensitivity": sensitivity_table(growing, costs),
    }
