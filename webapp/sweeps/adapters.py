"""The copies of adapters that the runs of a sweep start from: of each adapter one, made when the sweep is created or
extended. So runs that are launched on different days start from the same weights, even if a directory is changed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.errors import ModelError
from engine.sweeps.axes import RangeAxis
from webapp.adapter_copies import copies_folder, copy_of, keep_if
from webapp.sweeps.models import Sweep

ADAPTER = "model.adapter"
ORPHANED_SECONDS = 24 * 3600.0  # without a change; copying takes less


def keep_adapters(sweep: Sweep) -> None:
    """Copies the adapters that the sweep has no copy of yet. One that cannot be copied is reported with its runs."""
    missing = [path for path in _adapters_of(sweep) if path not in sweep.adapters]
    for path in missing:
        try:
            copy = copy_of(path)
        except ModelError:
            continue
        if copy is not None:
            sweep.adapters[path] = copy.name
            keep_if(copy, lambda name=copy.name: name in _names(pk=sweep.pk))  # type: ignore[misc]
    if missing:
        sweep.save(update_fields=["adapters"])


def kept_copy(sweep: Sweep, config: Mapping[str, Any]) -> Path | None:
    """That a run with `config` starts from; None if the sweep has none."""
    name = sweep.adapters.get(config["model"]["adapter"])
    return copies_folder() / name if name else None


def remove_unused_copies() -> None:
    """Those of sweeps that are gone, and of launches that a crash ended."""
    root = copies_folder()
    used = _names()
    for folder in root.iterdir() if root.is_dir() else ():
        if folder.name not in used and time.time() - folder.stat().st_mtime > ORPHANED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def _names(**chosen: Any) -> set[str]:
    found = Sweep.objects.filter(**chosen).exclude(adapters={}).values_list("adapters", flat=True)
    return {name for adapters in found for name in adapters.values()}


def _adapters_of(sweep: Sweep) -> Iterator[str]:
    """Of the base, if a run may have it, and of all values of the axes, also those that no run has yet."""
    base = sweep.parsed_config()
    axes = [axis.levels() for axis in sweep.parsed_plan().axes if not isinstance(axis, RangeAxis)]
    if base.starts_from_adapter and not any(all(ADAPTER in level.changes for level in levels) for levels in axes):
        yield base.model.adapter
    for levels in axes:
        yield from (str(path) for level in levels if (path := level.changes.get(ADAPTER)))
