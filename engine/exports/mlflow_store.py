"""A run as MLflow's file store keeps it, which `mlflow ui --backend-store-uri` and `MlflowClient` read.

The layout is that of `mlflow.store.tracking.file_store` in MLflow 3: `<experiment>/<run>/metrics/<name>` with a line
`<milliseconds> <value> <step>` for each step, `params` and `tags` with a file for each, and `meta.yaml`. JSON is YAML.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from engine.exports.types import About, Step

ARTIFACTS = "artifacts"
EXPERIMENT = "1"
RUNNING, FINISHED, FAILED = 1, 3, 4  # of `RunStatus`
LOCAL = 4  # of `SourceType`
LONGEST_PARAM = 6000  # characters
FORBIDDEN = re.compile(r"[^/\w.\- :]")


class File(NamedTuple):
    path: str
    content: str


def file_store(about: About, steps: Iterable[Step]) -> Iterator[File]:
    """The files under `mlruns/`. Names have `_` for what MLflow does not allow in them."""
    experiment = f"mlruns/{EXPERIMENT}"
    run_id = about.id.rjust(32, "0")
    run = f"{experiment}/{run_id}"
    yield _meta(experiment, _experiment(about))
    yield _meta(run, _run(about, run_id))
    yield File(f"{run}/{ARTIFACTS}/.keep", "")
    for name, value in {"mlflow.runName": about.name, "mlflow.note.content": about.notes, **_tags(about)}.items():
        yield File(f"{run}/tags/{name}", value)
    for name, value in _flat(about.config).items():
        yield File(f"{run}/params/{_name(name)}", value[:LONGEST_PARAM])
    lines: dict[str, list[str]] = defaultdict(list)
    for one in steps:
        for name, number in one.metrics.items():
            lines[_name(name)].append(f"{int(one.time * 1000)} {number!r} {one.step}\n")
    folders = {name.rpartition("/")[0] for name in lines}
    for name, written in lines.items():
        file = f"{name}_" if any(folder == name or folder.startswith(f"{name}/") for folder in folders) else name
        yield File(f"{run}/metrics/{file}", "".join(written))  # a file cannot have the name of a folder


def _experiment(about: About) -> dict[str, Any]:
    moment = int(about.started * 1000)
    return {
        "artifact_location": f"./mlruns/{EXPERIMENT}",
        "creation_time": moment,
        "experiment_id": EXPERIMENT,
        "last_update_time": moment,
        "lifecycle_stage": "active",
        "name": about.project or "starboard",
    }


def _run(about: About, run_id: str) -> dict[str, Any]:
    status = RUNNING if about.ended is None else FINISHED if about.succeeded else FAILED
    return {
        "artifact_uri": f"./mlruns/{EXPERIMENT}/{run_id}/{ARTIFACTS}",
        "end_time": None if about.ended is None else int(about.ended * 1000),
        "entry_point_name": "",
        "experiment_id": EXPERIMENT,
        "lifecycle_stage": "active",
        "run_id": run_id,
        "run_name": about.name,
        "run_uuid": run_id,
        "source_name": "",
        "source_type": LOCAL,
        "source_version": "",
        "start_time": int(about.started * 1000),
        "status": status,
        "tags": [],
        "user_id": about.user,
    }


def _tags(about: About) -> dict[str, str]:
    return {"starboard.run_id": about.id, "mlflow.user": about.user, **{_name(f"tag.{tag}"): "" for tag in about.tags}}


def _meta(folder: str, content: dict[str, Any]) -> File:
    return File(f"{folder}/meta.yaml", json.dumps(content, indent=1) + "\n")


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Leaves by dotted name."""
    if isinstance(value, dict) and value:
        found: dict[str, str] = {}
        for name, part in value.items():
            found |= _flat(part, f"{prefix}.{name}" if prefix else str(name))
        return found
    return {prefix: value if isinstance(value, str) else json.dumps(value)} if prefix else {}


def _name(name: str) -> str:
    """Also no path that leads out: each part of it is a name."""
    parts = [part for part in FORBIDDEN.sub("_", name).split("/") if part.strip(". ")]
    return "/".join(parts) or "_"
