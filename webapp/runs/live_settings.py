"""Changes to the settings of a live run: validated here, stored in the run's row, applied by its engine.

The engine applies them before the next step and emits a `settings_changed` event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import F
from pydantic import ValidationError

from engine.config import RunConfig, problems_by_field
from engine.config.live import differences, merged, with_changes
from engine.errors import ConfigError
from webapp.audit.services import Actor, record
from webapp.runs.models import Run
from webapp.runs.services import STEERABLE, refresh_and_publish
from webapp.runs.states import RunState

CHANGEABLE = [RunState.QUEUED, *STEERABLE]


class Refused(Exception):
    """`errors` by dotted field, under "" those of no field. `conflict`: the run's state or revision is the reason."""

    def __init__(self, errors: dict[str, str], *, conflict: bool = False) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = errors
        self.conflict = conflict


def current(run: Run) -> RunConfig:
    """The configuration with all changes since launch applied."""
    return with_changes(run.parsed_config(), run.settings_changes)


def change(run: Run, wanted: Mapping[str, Any], user: Actor, *, revision: int | None = None) -> dict[str, Any]:
    """Requests new values for fields; returns the changes as `{field: {"old": …, "new": …}}` or raises `Refused`.

    `revision` is the revision that the user saw; if it is not the current one, the change is refused.
    """
    if run.state not in CHANGEABLE:
        raise Refused(
            {"": f"The run is {run.get_state_display().lower()}. Fork it to change its settings."}, conflict=True
        )
    if revision is not None and revision != run.settings_revision:
        raise Refused({"": "The settings were changed in the meantime. Reload and try again."}, conflict=True)
    before = current(run)
    try:
        after = _checked(before, wanted)
    except Refused as refusal:
        reasons = "; ".join(f"{field}: {why}".removeprefix(": ") for field, why in refusal.errors.items())
        record(run, user, _action(wanted), False, because=reasons[:300])
        raise refusal
    changes = differences(before, after)
    if not changes:
        return {}
    held = {**run.settings_changes, **{field: one["new"] for field, one in changes.items()}}
    unchanged = Run.objects.filter(pk=run.pk, settings_revision=run.settings_revision, state__in=CHANGEABLE)
    with transaction.atomic():
        if not unchanged.update(settings_changes=held, settings_revision=F("settings_revision") + 1):
            raise Refused({"": "The run or its settings changed in the meantime. Reload and try again."}, conflict=True)
        revision = run.settings_revision + 1
        run.settings_changes = held
        run.list_again()
        record(run, user, _action(changes), changes=changes, revision=revision)
    refresh_and_publish(run)
    return changes


def _action(fields: Mapping[str, Any]) -> str:
    return "rules" if all(field.startswith("detectors.") for field in fields) else "settings"


def _checked(before: RunConfig, wanted: Mapping[str, Any]) -> RunConfig:
    """Validated by the engine's own models; raises `Refused` with an error for each wrong field."""
    try:
        data = merged(before, wanted)
    except ConfigError as error:
        raise Refused({"": str(error)}) from None
    try:
        RunConfig.model_validate(data)
    except ValidationError as error:
        raise Refused(dict(problems_by_field(error, RunConfig))) from None
    try:
        return with_changes(before, wanted)
    except ConfigError as error:
        raise Refused({"": str(error)}) from None
