"""Predicted seconds of a step by phase, one panel per model: samplers next to everything else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.figure import Figure

from benchmarks.scaling.measured import BESIDE, Measured
from benchmarks.scaling.phases import PARTS, seconds_of
from benchmarks.scaling.predict import SAMPLERS, Costs
from benchmarks.scaling.report import Cell
from benchmarks.science.plot import COLOURS

WIDTH, HEIGHT = 3.6, 3.2  # inches a panel
ORDER = ("sampling", "environment", "learning", "scoring", "diagnostics", "driver", "capture", "sync")


def plot_predictions(found: Sequence[Cell], path: Path) -> None:
    models = list(dict.fromkeys(cell.model for cell in found))
    figure, axes = pyplot.subplots(1, len(models), figsize=(WIDTH * len(models), HEIGHT), squeeze=False)
    for axis, model in zip(axes[0], models, strict=True):
        chosen = [cell for cell in found if cell.model == model]
        for index, cell in enumerate(chosen):
            ends = {True: 0.0, False: 0.0}
            for colour, part in zip(COLOURS, ORDER, strict=True):
                left = part in SAMPLERS
                bottom = max(ends.values()) if part == "sync" else ends[left]
                x, width = (index, 0.76) if part == "sync" else (index - 0.2 if left else index + 0.2, 0.36)
                axis.bar(x, cell.parts[part], width, bottom=bottom, color=colour, label=part if not index else None)
                ends[left] += cell.parts[part]
        axis.set_title(model, fontsize=9)
        axis.set_xticks(range(len(chosen)), [str(cell.gpus) for cell in chosen])
        axis.set_xlabel("GPUs", fontsize=8)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("seconds of a step, predicted", fontsize=8)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=7, frameon=False, loc="lower center", ncols=len(ORDER))
    save(figure, path, below=0.06)


def plot_fit(points: Sequence[Measured], costs: Costs, path: Path) -> None:
    figure, axis = pyplot.subplots(figsize=(WIDTH * 1.3, WIDTH * 1.2))
    for colour, part in zip(COLOURS, [part for part in PARTS if part not in BESIDE], strict=False):
        measured = [point.seconds[part] for point in points]
        by_fit = [seconds_of(part, costs, point.shape, point.step) for point in points]
        axis.plot(measured, by_fit, "o", color=colour, markersize=3.5, label=part)
    limits = axis.get_xlim()
    axis.plot(limits, limits, color="#999999", linewidth=0.8, zorder=0)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("measured, processor seconds", fontsize=8)
    axis.set_ylabel("by the fit", fontsize=8)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize=7, frameon=False)
    save(figure, path)


def save(figure: Figure, path: Path, *, below: float = 0.0) -> None:
    """`below` is the share of the height that is left free at the foot."""
    figure.tight_layout(rect=(0, below, 1, 1))
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
