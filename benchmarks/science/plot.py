"""Curves of an experiment, one panel per metric: the mean over seeds of each arm, with the single seeds behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

from benchmarks.science.experiment import Experiment
from benchmarks.science.pilots import in_blocks
from engine.metrics import describe

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")  # Okabe-Ito
DASHES = ("-", "--", ":")  # of arms beyond the colours
WIDTH, HEIGHT = 4.2, 3.1  # inches a panel
POINTS = 100  # of a curve at most, so that a figure of many long runs is no large file
LEGEND: dict[str, Any] = {"fontsize": 8, "frameon": False}
matplotlib.rcParams["svg.hashsalt"] = "starboard"  # deterministic output


def plot(experiment: Experiment, results: Sequence[dict[str, Any]], path: Path) -> None:
    plot_curves(experiment.curves, [arm.label for arm in experiment.arms], results, path)


def plot_curves(metrics: Sequence[str], arms: Sequence[str], results: Sequence[dict[str, Any]], path: Path) -> None:
    """Arms beyond the colours have them again, in dashes. Where that happens single seeds are left out."""
    looks = [(colour, dashes) for dashes in DASHES for colour in COLOURS]
    shows_seeds = len(arms) <= len(COLOURS)
    names = [name for name in metrics if any(result["curves"][name] for result in results)]
    size = (WIDTH * len(names), HEIGHT)
    figure, axes = pyplot.subplots(1, len(names), figsize=size, squeeze=False, layout="constrained")
    for axis, name in zip(axes[0], names, strict=True):
        width = -(-max(len(result["curves"][name]) for result in results) // POINTS)
        for (colour, dashes), arm in zip(looks[: len(arms)], arms, strict=True):
            curves = [in_blocks(result["curves"][name], width) for result in results if result["arm"] == arm]
            for curve in curves if shows_seeds else []:
                axis.plot(*zip(*curve, strict=True), color=colour, alpha=0.2, linewidth=0.8)
            axis.plot(*zip(*mean_curve(curves), strict=True), color=colour, linestyle=dashes, linewidth=1.6, label=arm)
        axis.set_title(describe(name).title, fontsize=9)
        axis.set_xlabel("step", fontsize=8)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, **LEGEND)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def mean_curve(curves: Sequence[Sequence[Sequence[float]]]) -> list[tuple[float, float]]:
    """The mean at each step over the seeds that have it."""
    values: dict[float, list[float]] = defaultdict(list)
    for curve in curves:
        for step, value in curve:
            values[step].append(value)
    return [(step, sum(found) / len(found)) for step, found in sorted(values.items())]
