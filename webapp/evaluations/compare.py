"""The comparison of runs: which runs, how they are drawn, with which metrics; differences of settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webapp.environments.differences import Differences
from webapp.evaluations.models import Evaluation
from webapp.evaluations.same_config import LABELS, same_but_seed
from webapp.live.outline import metric_names as names_of
from webapp.runs.models import Run

MOST_RUNS = 10
DASHES = 6  # solid, and five patterns that charts draw
START = "model.start_from."  # the lineage says it
FIRST_METRICS = ["rollout/success", "reward/mean", "policy/entropy", "optim/grad_norm"]
MOST_METRICS = 24
MOST_DIFFERENCES = 3  # shown next to a run's name


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the URL selects, with invalid parts dropped. Display options of the charts are read by the browser.

    `dashes` has a line pattern for each run, 0 for a solid line.
    """

    runs: list[Run]
    dashes: list[int]
    missing: list[str]
    metrics: list[str]


def read_view(query: Mapping[str, str]) -> View:
    requested = list(dict.fromkeys(part for part in query.get("runs", "").split(",") if part))[:MOST_RUNS]
    found = Run.objects.select_related("forked_from").in_bulk(requested)
    runs = [found[pk] for pk in requested if pk in found]
    metrics = [part for part in query.get("metrics", "").split(",") if part] or first_metrics(runs)
    return View(
        runs=runs,
        dashes=dashes(runs),
        missing=[pk for pk in requested if pk not in found],
        metrics=list(dict.fromkeys(metrics))[:MOST_METRICS],
    )


def first_metrics(runs: list[Run]) -> list[str]:
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


def seed_groups(runs: list[Run]) -> list[int | None]:
    """Per run the index of the first run that differs from it only in the seed; None for a run without such a group.

    Each seed counts once, since another run with the same seed is a repetition. Runs whose settings were changed during
    training belong to no group.
    """
    groups: dict[int, list[Run]] = {}
    for index, run in enumerate(runs):
        if run.imported_from or run.settings_revision:
            continue
        similar = (first for first, others in groups.items() if same_but_seed(others[0], run))
        others = groups.setdefault(next(similar, index), [])
        if seed_of(run) not in {seed_of(other) for other in others}:
            others.append(run)
    firsts = {run.pk: first for first, others in groups.items() if len(others) > 1 for run in others}
    return [firsts.get(run.pk) for run in runs]


def seed_of(run: Run) -> int | None:
    return None if run.imported_from else run.parsed_config().seed


def short_differences(differences: Differences | None, count: int) -> list[str]:
    """For each of `count` runs the first few settings that differ, as one line."""
    rows = differences.differing if differences else []
    shown = [row for row in rows if row.key not in LABELS and not row.key.startswith(START)]
    return [
        " · ".join(
            f"{row.key.rpartition('.')[2]} {row.values[i]}"
            for row in shown[:MOST_DIFFERENCES]
            if row.values[i] is not None
        )
        for i in range(count)
    ]


def metric_names(runs: list[Run]) -> list[str]:
    """All metrics of the runs, and their held-out success."""
    tags = Evaluation.objects.filter(run__in=runs).values_list("environment", flat=True).distinct()
    return sorted({name for run in runs for name in names_of(run)} | {f"eval/{tag}/success" for tag in tags})
