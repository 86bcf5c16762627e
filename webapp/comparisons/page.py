"""What a comparison shows first: its metrics, how its lines are drawn, and each run in a line of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

from django.http import QueryDict

from engine.statistics.group_bands import BandKind
from webapp.comparisons.fields import Field, axis_fields, label_fields, setting_fields, settings_of
from webapp.comparisons.grouping import Group, groups_of
from webapp.comparisons.selection import Selection, select
from webapp.environments.differences import Differences
from webapp.evaluations.models import Evaluation
from webapp.runs.models import MetricName, Run

DASHES = 6  # solid, and five patterns that charts draw
FIRST_METRICS = ["rollout/success", "reward/mean", "policy/entropy", "optim/grad_norm"]
MOST_METRICS = 24
MOST_DIFFERENCES = 3  # shown next to a run's name
BANDS: dict[BandKind, str] = {
    "ci": "95% interval",
    "se": "standard error",
    "std": "standard deviation",
    "minmax": "min–max",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the URL selects, with invalid parts dropped. Display options of the charts are read by the browser.

    `dashes` has a line pattern for each run, 0 for a solid line.
    """

    selection: Selection
    metrics: list[str]
    group: Field | None = None
    groups: list[Group] = field(default_factory=list)
    band: BandKind = "ci"
    differences: Differences
    settings: list[Field]  # that differ
    labels: list[Field]

    @property
    def runs(self) -> list[Run]:
        return self.selection.runs

    @property
    def dashes(self) -> list[int]:
        return dashes(self.runs)

    @property
    def group_key(self) -> str:
        return self.group.key if self.group else ""


def read_view(query: QueryDict) -> View:
    selection = select(query)
    runs = selection.runs
    differences = settings_of(runs)
    settings = setting_fields(differences)
    known = {one.key for one in settings}
    labels = [*label_fields(runs), *(axis for axis in axis_fields(runs) if axis.label not in known)]
    group = next((one for one in (*labels, *settings) if one.key == query.get("group")), None)
    if query.get("group") and group is None and runs:
        selection.notes.append(f"These runs do not differ in {query['group'][:80]!r}, so they are not grouped by it.")
    metrics = [part for part in query.get("metrics", "").split(",") if part] or first_metrics(runs)
    band = query.get("band", "")
    return View(
        selection=selection,
        metrics=list(dict.fromkeys(metrics))[:MOST_METRICS],
        group=group,
        groups=groups_of(runs, group),
        band=next((one for one in get_args(BandKind) if one == band), "ci"),
        differences=differences,
        settings=settings,
        labels=labels,
    )


def first_metrics(runs: Sequence[Run]) -> list[str]:
    """Metrics to show if the URL names none: training success and held-out success first."""
    tags = Evaluation.objects.filter(run__in=runs).order_by("environment").values_list("environment", flat=True)
    held_out = [f"eval/{tag}/success" for tag in tags.distinct()[:1]]
    return [FIRST_METRICS[0], *held_out, *FIRST_METRICS[1:]]


def dashes(runs: Sequence[Run]) -> list[int]:
    """A run has its own colour here too; where several have the same, the first is solid and the others are dashed."""
    seen: Counter[int] = Counter()
    found = []
    for run in runs:
        found.append(seen[run.colour] % DASHES)
        seen[run.colour] += 1
    return found


def short_differences(settings: Sequence[Field], count: int) -> list[str]:
    """For each of `count` runs the first few settings that differ, as one line."""
    shown = settings[:MOST_DIFFERENCES]
    return [" · ".join(f"{one.key.rpartition('.')[2]} {one.values[index]}" for one in shown) for index in range(count)]


def metric_names(runs: Sequence[Run]) -> list[str]:
    """All metrics of the runs, and their held-out success."""
    tags = Evaluation.objects.filter(run__in=runs).values_list("environment", flat=True).distinct()
    reported = MetricName.objects.filter(run__in=runs).order_by().values_list("name", flat=True).distinct()
    return sorted(
        {*reported, *(name for run in runs for name in run.metrics)} | {f"eval/{tag}/success" for tag in tags}
    )
