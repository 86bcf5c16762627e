"""What the database knows of a run and its files do not, in a file of its directory: `about.json`.

Runs of a lost database are adopted with it (`adopting`). It is written when an engine starts and when a run ends.
"""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from webapp.runs.models import Run
from workers.control import write_json

log = logging.getLogger(__name__)

FILE = "about.json"


class AboutRun(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: str
    owner: str = ""
    preset: str = "custom"
    project: str = ""
    notes: str = ""
    tags: list[str] = []
    created_at: datetime
    settings_changes: dict[str, Any] = {}
    settings_revision: int = 0


def write_about(run: Run) -> None:
    """A run must not fail because of it: what cannot be written is logged."""
    about = AboutRun(
        name=run.name,
        owner=run.owner.get_username() if run.owner else "",
        preset=run.preset,
        project=run.project.name,
        notes=run.notes,
        tags=list(run.tags.values_list("name", flat=True)),
        created_at=run.created_at,
        settings_changes=run.settings_changes,
        settings_revision=run.settings_revision,
    )
    try:
        write_json(run.directory / FILE, about.model_dump(mode="json"))
    except OSError as error:
        log.warning("Run %s: %s cannot be written: %s", run.pk, FILE, error)


def read_about(directory: Path) -> AboutRun | None:
    """None where there is no such file, or it is damaged."""
    try:
        return AboutRun.model_validate_json((directory / FILE).read_bytes())
    except (OSError, ValidationError):
        return None
