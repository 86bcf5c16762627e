"""Markdown tables: how well the model fits, what things cost here, and what it foretells for GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from benchmarks.operations import qwen2
from benchmarks.scaling.hardware import H100, Assumed
from benchmarks.scaling.large import LARGE
from benchmarks.scaling.measured import Measured, fitted, quality
from benchmarks.scaling.phases import PARTS, seconds_of
from benchmarks.scaling.predict import SAMPLERS, Costs, Place, best_place, bottleneck, fits, parts_of, step_seconds

GPUS = (8, 64, 512)
FIXED, PER_GPU = 1024, 64  # trajectories
STEP_VALUES, ROW_VALUES = 75, 21  # of a step's row, in runs recorded here; columns of a trajectory's row
EVENT_BYTES = 3000  # of a step's events, in the same runs
INGESTED = 750_000  # values a second into rows, by benchmarks.ingestion on this machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A model on some GPUs."""

    model: str
    gpus: int
    place: Place
    parts: dict[str, float]

    @property
    def seconds(self) -> float:
        return step_seconds(self.parts)


def cells(costs: Costs, *, grows: bool, assumed: Assumed | None = None) -> list[Cell]:
    """`grows`: the more GPUs, the more trajectories; else as many on all."""
    found = []
    for model, sizes in LARGE.items():
        for gpus in GPUS:
            trajectories = gpus * PER_GPU if grows else FIXED
            place = best_place(qwen2(sizes), gpus, trajectories, gpu=H100, costs=costs, assumed=assumed)
            found.append(Cell(model=model, gpus=gpus, place=place, parts=parts_of(place, costs)))
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
        [one.part, f"{one.fitted:.0%}", f"{one.held_out:.0%}", f"{one.worst:+.0%}, {one.worst_point}"]
        for one in quality(points)
    ]
    return table(["part", "error of the fit", "error held out", "worst held out"], rows)


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
            f"{cell.place.samplers} x {cell.place.tensor_parallel} + {cell.place.learners}",
            f"{cell.place.trajectories:,}",
            *(short(cell.parts[name]) for name in names),
            f"**{short(cell.seconds)}**",
            bottleneck(cell.parts),
            fits(cell.place) or "fits",
        ]
        for cell in found
    ]
    return table(head, rows)


def remedies_table(found: Sequence[Cell], costs: Costs) -> str:
    """Seconds of a step as it is, and with one thing after the other taken away."""
    rows = []
    for cell in found:
        by_gpu = parts_of(cell.place, costs, by_gpu=True)
        thin = {**by_gpu, "capture": by_gpu["capture"] / 10}
        spread = {**thin, "capture": 0.0, "driver": by_gpu["driver"] / cell.place.samplers}
        steps = [cell.parts, by_gpu, thin, spread]
        rows.append([cell.model, str(cell.gpus), *(f"{short(step_seconds(one))}, {bottleneck(one)}" for one in steps)])
    head = ["model", "GPUs", "as it is", "sync by GPU", "and every tenth step captured"]
    return table([*head, "and both shared out to the samplers"], rows)


def rates_table(found: Sequence[Cell], costs: Costs, shard_bytes: float) -> str:
    """What a run writes, and what the site's worker does with it, where each step is captured."""
    rows = []
    for cell in found:
        step, values = cell.place.step, STEP_VALUES + ROW_VALUES * cell.place.trajectories
        indexing = seconds_of("indexing", costs, cell.place.shape, step)
        rows.append(
            [
                cell.model,
                f"{EVENT_BYTES / cell.seconds:,.0f}",
                f"{1 / cell.seconds:.2g}",
                f"{cell.place.trajectories / cell.seconds:,.0f}",
                f"{values / cell.seconds:,.0f} ({values / cell.seconds / INGESTED:.1%})",
                f"{shard_bytes * step.tokens / cell.seconds / 1e6:,.1f}",
                f"{indexing / cell.seconds:.0%}",
            ]
        )
    head = ["model", "event bytes/s", "metric rows/s", "trajectory rows/s", f"values/s (of {INGESTED:,})"]
    return table([*head, "shards, MB/s", "one worker, reading shards"], rows)


def sensitivity_table(costs: Costs) -> str:
    """For each assumption, halved and doubled: by how much a step changes at most, and how many bottlenecks do."""
    usual = cells(costs, grows=True)
    rows = []
    for name, changed in alternatives():
        other = cells(costs, grows=True, assumed=changed)
        ratios = [new.seconds / old.seconds for new, old in zip(other, usual, strict=True)]
        moved = sum(bottleneck(new.parts) != bottleneck(old.parts) for new, old in zip(other, usual, strict=True))
        rows.append([name, f"{min(ratios):.2f} to {max(ratios):.2f}", f"{moved} of {len(usual)}"])
    return table(["assumption", "step, times", "other bottlenecks"], rows)


def alternatives() -> Iterator[tuple[str, Assumed]]:
    usual = Assumed()
    for one in fields(Assumed):
        if one.name in ("memory_share", "room"):
            continue
        value = getattr(usual, one.name)
        most = 1.0 if value < 1 and one.name not in ("hop", "pass_seconds") else value * 2
        yield f"`{one.name}` {value:g} halved", replace(usual, **{one.name: value / 2})
        yield f"`{one.name}` {value:g} to {min(value * 2, most):g}", replace(usual, **{one.name: min(value * 2, most)})


def learner_side(parts: dict[str, float]) -> float:
    return sum(seconds for part, seconds in parts.items() if part not in (*SAMPLERS, "sync"))


def short(seconds: float) -> str:
    """Two digits, and no more below a millisecond."""
    if seconds < 0.0005:
        return "0"
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tables(points: Sequence[Measured], shard_bytes: float) -> dict[str, str]:
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
        "rates": rates_table(widest, costs, shard_bytes),
        "sensitivity": sensitivity_table(costs),
    }
