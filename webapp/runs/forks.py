"""Forks: runs that start from another run's checkpoint. `engine.forking` finds the checkpoint and retains it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings

from engine.config import RunConfig
from engine.errors import CheckpointError
from engine.forking import find_checkpoint
from webapp.projects.access import readable
from webapp.runs.lineage import may_start_from
from webapp.runs.live_settings import current
from webapp.runs.models import Checkpoint, Run


def started_at(source: Run, step: int) -> RunConfig:
    """`source` as it is configured now, starting from its checkpoint at `step`. Warm-up and schedule of the learning
    rate continue."""
    now = current(source)
    before = now.model.start_from.steps_before + step
    start = now.model.start_from.model_copy(update={"run": source.pk, "step": step, "steps_before": before})
    return now.model_copy(update={"model": now.model.model_copy(update={"start_from": start})})


def forked_config(source: Run, step: int) -> RunConfig:
    """The remaining steps of `source` from its checkpoint at `step`."""
    config = started_at(source, step)
    return config.model_copy(update={"steps": max(1, config.steps - step)})


def name_of(source: Run, step: int) -> str:
    return f"{source.name[:60]} from step {step}"


def why_not(config: RunConfig) -> str:
    """Why the run cannot start from its checkpoint; empty if it can, or if it starts from none."""
    wanted = config.model.start_from
    if not wanted.run:
        return ""
    if not may_start_from(wanted.run):
        return f"Run {wanted.run} does not exist."
    try:
        find_checkpoint(Path(settings.RUNS_DIR), wanted.run, wanted.step)
    except CheckpointError as error:
        known = Run.objects.filter(pk=wanted.run).exists()
        return error.remedy if known else f"Run {wanted.run} does not exist. {error.remedy}"
    return ""


def origin(run: Run) -> dict[str, Any] | None:
    """The run and step that a fork started from; `parent` is None if that run is not in the database, or
    if the reader may not read it."""
    start = run.config.get("model", {}).get("start_from") or {}
    if not start.get("run"):
        return None
    parent = readable(Run.objects.filter(pk=start["run"])).first()
    return {"run": start["run"], "step": start["step"], "parent": parent}


def last_before(run: Run, step: int) -> Checkpoint | None:
    """The newest checkpoint before `step` that still exists: what to fork from when that step went wrong."""
    found = run.checkpoints.filter(step__lt=step).order_by("-step")
    return next((one for one in found if (run.directory / one.path).is_dir()), None)
