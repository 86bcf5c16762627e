"""Settings that were changed while a run was live, as a part of its configuration: each value with its first step.

The engine reports a change after the step at which it was requested; it applies from the next one on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.events import RunStarted, SettingsChanged, kind_of
from webapp.environments.differences import flatten, shown, with_defaults
from webapp.runs.models import Run, RunEvent

BEFORE_ALL_STEPS = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSetting:
    """`field` is dotted as in a flattened configuration; `step` is the first step with the value `new`."""

    field: str
    step: int
    old: Any
    new: Any


History = list[ChangedSetting]  # in the order of changes


def settings_histories(run_ids: Collection[str]) -> dict[str, History]:
    """By run, those that had settings changed. Changes after a step that a resumed attempt repeats do not count."""
    kinds = [kind_of(SettingsChanged), kind_of(RunStarted)]
    rows = RunEvent.objects.filter(run__in=_changed(run_ids), kind__in=kinds).order_by("run", "seq")
    found: dict[str, list[SettingsChanged]] = {}
    for row in rows:
        match row.parsed():
            case SettingsChanged(changes=changes) as event if changes:
                found.setdefault(row.run_id, []).append(event)
            case RunStarted(attempt=attempt, resumed_from=step) if attempt > 1:
                last = BEFORE_ALL_STEPS if step is None else step
                found[row.run_id] = [event for event in found.get(row.run_id, []) if event.step <= last]
            case _:
                pass
    return {run_id: history for run_id, events in found.items() if (history := _leaves(events))}


def history_of(run: Run) -> History:
    return settings_histories([run.pk]).get(run.pk, [])


def as_json(history: History) -> list[dict[str, Any]]:
    return [asdict(change) for change in history]


def described(history: History) -> list[str]:
    """One line for each field: `optimizer.learning_rate 0.0002 → 0.00005 at step 71`. Alert rules train nothing."""
    fields = dict.fromkeys(change.field for change in history if not change.field.startswith("detectors."))
    return [f"{field} {values}" for field, values in _values_over_time(history, fields).items()]


def with_history(config: Mapping[str, Any], history: History) -> dict[str, Any]:
    """A flattened configuration in which a changed setting reads `0.0002 → 0.00005 at step 71`."""
    leaves = flatten(with_defaults(config))
    return {**leaves, **_values_over_time(history, dict.fromkeys(change.field for change in history))}


def _values_over_time(history: History, fields: Collection[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for field in fields:
        changes = [change for change in history if change.field == field]
        later = [f"{_text(change.new)} at step {change.step}" for change in changes]
        values[field] = " → ".join([_text(changes[0].old), *later])
    return values


def _leaves(events: list[SettingsChanged]) -> History:
    """Changes of whole objects, such as a filter, as those of their leaves."""
    found: History = []
    now: dict[str, Any] = {}
    for event in events:
        for field, change in event.changes.items():
            old, new = flatten(change.old, field), flatten(change.new, field)
            for leaf in dict.fromkeys([*old, *new]):
                before, after = now.get(leaf, old.get(leaf)), new.get(leaf)
                if before != after:  # a resumed run reports a change again
                    found.append(ChangedSetting(field=leaf, step=event.step + 1, old=before, new=after))
                    now[leaf] = after
    return found


def _changed(run_ids: Collection[str]) -> list[str]:
    return list(Run.objects.filter(pk__in=run_ids, settings_revision__gt=0).values_list("pk", flat=True))


def _text(value: Any) -> str:
    return "not set" if value is None else shown(value)
