"""What runs can be grouped by, and what their outcomes can depend on: labels, and the settings that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from webapp.environments.differences import Differences, leaf_differences
from webapp.evaluations.same_config import LABELS
from webapp.runs.models import ListedRun, Run, RunTag
from webapp.runs.settings_history import settings_histories, with_history

SEEDS = "seeds"  # groups of runs that differ only in their seed
START = "model.start_from."  # what the lineage says better
NOT_SET = "not set"

PLAIN = {
    SEEDS: "configuration (mean over seeds)",
    "environment": "environment",
    "model": "model",
    "preset": "preset",
    "project": "project",
    "owner": "owner",
    "tag": "tags",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """`values` has a text for each run, in their order; `numbers` the same as numbers if all of them are."""

    key: str
    label: str
    values: list[str]
    numbers: list[float] | None = None

    @property
    def groups_runs(self) -> bool:
        """Whether runs differ in it; of configurations, whether any has several runs."""
        count = len(set(self.values))
        return count < len(self.values) if self.key == SEEDS else count > 1


def settings_of(runs: Sequence[Run]) -> Differences:
    """The settings that differ and those that do not, with what was changed while a run was live."""
    histories = settings_histories([run.pk for run in runs])
    return leaf_differences([with_history(run.config, histories.get(run.pk, [])) for run in runs])


def setting_fields(found: Differences) -> list[Field]:
    """A field for each setting that differs."""
    return [
        Field(
            key=row.key,
            label=row.key,
            values=[NOT_SET if value is None else value for value in row.values],
            numbers=_numbers(row.values),
        )
        for row in found.differing
        if row.key not in LABELS and not row.key.startswith(START)
    ]


def axis_fields(runs: Sequence[Run]) -> list[Field]:
    """The axes of sweeps that the runs belong to, by their names."""
    found = Run.objects.filter(pk__in=[run.pk for run in runs], planned__isnull=False)
    labels: dict[str, dict[str, str]] = dict(found.values_list("pk", "planned__labels"))
    names = dict.fromkeys(name for one in labels.values() for name in one)
    return [
        Field(key=f"axis:{name}", label=name, values=[str(labels.get(run.pk, {}).get(name, "none")) for run in runs])
        for name in names
    ]


def swept_names(runs: Sequence[Run]) -> list[str]:
    """Of runs that all belong to one sweep, the values of each on its axes, or on its only axis with its name; empty
    for others."""
    found = Run.objects.filter(pk__in=[run.pk for run in runs], planned__isnull=False)
    rows = {pk: (sweep, labels) for pk, sweep, labels in found.values_list("pk", "planned__sweep", "planned__labels")}
    if len(rows) < len(runs) or len({sweep for sweep, _ in rows.values()}) != 1:
        return []
    plan: dict[str, Any] = found.values_list("planned__sweep__plan", flat=True)[0]
    names = [str(axis.get("name") or axis.get("field")) for axis in plan["axes"]]  # databases sort the keys of labels
    before = f"{names[0].rpartition('.')[2]} " if len(names) == 1 else ""
    return [before + ", ".join(str(rows[run.pk][1].get(name, "")) for name in names) for run in runs]


def label_fields(runs: Sequence[Run]) -> list[Field]:
    listed = ListedRun.objects.in_bulk([run.pk for run in runs])
    tags: dict[str, list[str]] = {}
    for run_id, name in RunTag.objects.filter(run__in=runs).order_by("name").values_list("run_id", "name"):
        tags.setdefault(run_id, []).append(name)

    def value(key: str, run: Run) -> str:
        row = listed.get(run.pk)
        found: Any = {
            SEEDS: row.config_key if row else run.pk,
            "environment": row.environment if row else "",
            "model": row.model if row else "",
            "preset": run.preset,
            "project": run.project.name,
            "owner": run.owner.get_username() if run.owner else "",
            "tag": ", ".join(tags.get(run.pk, [])),
        }[key]
        return str(found) or "none"

    return [Field(key=key, label=label, values=[value(key, run) for run in runs]) for key, label in PLAIN.items()]


def number_of(text: str) -> float | None:
    """None if it is no number, or an infinite one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if number - number else number


def _numbers(values: Sequence[str | None]) -> list[float] | None:
    found = [number_of(value or "") for value in values]
    known = [number for number in found if number is not None]
    return known if len(known) == len(found) else None
