"""How a run's configuration differs from the preset that it began from, and from the run that it was forked from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from webapp.audit.services import Actor
from webapp.environments.differences import Differences, flatten, leaf_differences, with_defaults
from webapp.projects.access import can
from webapp.projects.models import Role
from webapp.runs.models import Run
from webapp.runs.settings_history import history_of, with_history
from webapp.runs.shipped_presets import preset_titled

LABELS = ("preset", "description")
START = "model.start_from."  # the lineage says it


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Each row has the value there, and the run's own: `0.0002 → 0.00005 at step 71` if it was changed meanwhile."""

    title: str
    column: str
    rows: Differences
    parent: Run | None = None


def comparisons(run: Run, viewer: Actor = None) -> list[Comparison]:
    """A saved preset is compared for its owner alone, as nobody else sees it."""
    found = (_with_parent(run), _with_preset(run) or _with_saved_preset(run, viewer))
    return [one for one in found if one is not None]


def _with_parent(run: Run) -> Comparison | None:
    parent = run.forked_from
    if parent is None or parent.imported_from or not can(parent, Role.VIEWER):
        return None
    leaves = flatten(with_defaults(parent.config))
    for change in history_of(parent):
        if change.step <= (run.fork_step or 0):
            leaves[change.field] = change.new
    title = f"Differences from {parent.name} at step {run.fork_step}"
    return Comparison(title=title, column=f"At step {run.fork_step}", rows=_rows(leaves, run), parent=parent)


def _with_preset(run: Run) -> Comparison | None:
    """None for a run whose preset is none that ships."""
    preset = preset_titled(run.preset)
    if preset is None:
        return None
    leaves = flatten(with_defaults(preset.model_dump(mode="json")))
    return Comparison(title=f"Differences from the preset {run.preset}", column="Preset", rows=_rows(leaves, run))


def _with_saved_preset(run: Run, viewer: Actor) -> Comparison | None:
    """None if the viewer has deleted it; one that was saved again has other values than those of the launch."""
    if not isinstance(viewer, User) or run.owner_id != viewer.pk:
        return None
    preset = viewer.presets.filter(name=run.preset).first()
    if preset is None:
        return None
    again = " (saved again after the launch)" if preset.saved_at > run.created_at else ""
    rows = _rows(flatten(with_defaults(preset.config)), run)
    return Comparison(title=f"Differences from your preset {run.preset}{again}", column="Preset", rows=rows)


def _rows(before: dict[str, Any], run: Run) -> Differences:
    found = leaf_differences([before, with_history(run.config, history_of(run))])
    return Differences(
        differing=[row for row in found.differing if row.key not in LABELS and not row.key.startswith(START)],
        same=found.same,
    )
