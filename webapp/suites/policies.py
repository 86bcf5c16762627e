"""What can be evaluated: a checkpoint that is kept, a model directory in the configured folders, or an endpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User

from engine.errors import ModelError
from engine.evaluation.checkpoint_model import evaluated_model
from engine.policies.model_paths import BUNDLED, check_model_path
from engine.suites.policy import configuration_of
from engine.suites.weights import size_of, weights_of, weights_of_endpoint
from webapp.environments.model_access import NOT_IN_FOLDERS, is_in_model_folders
from webapp.environments.restrictions import ADMINISTRATORS, is_administrator
from webapp.jobs import Refused
from webapp.projects.access import projects_with, readable
from webapp.projects.models import Role
from webapp.runs.models import Run
from webapp.suites.models import PolicyKind
from webapp.whole_numbers import whole_number

LARGEST_HASHED = 4 << 30  # bytes; a worker computes the hash of a larger model
MOST_RUNS = 60  # whose checkpoints the form lists
MOST_FOLDERS = 200
SEPARATOR = "@"  # between the run and the step of a checkpoint
ADDRESS = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")
SERVER = "The workers send requests to it, and it may be inside your network."

Fields = dict[str, Any]  # of `SuiteEvaluation`


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """Those of a run that can be evaluated, the newest first."""

    run: Run
    steps: list[int]

    @property
    def options(self) -> list[tuple[str, int]]:
        """Each step with its value in the form."""
        return [(f"{self.run.pk}{SEPARATOR}{step}", step) for step in self.steps]


def checkpoints() -> list[Checkpoints]:
    """Of the newest runs that the reader may evaluate."""
    with_some = Run.objects.filter(archived_at=None, checkpoints__isnull=False)
    runs = with_some.filter(project__in=projects_with(Role.EDITOR)).distinct().order_by("-created_at")
    listed = runs.prefetch_related("checkpoints")[:MOST_RUNS]
    return [
        Checkpoints(run=run, steps=sorted((one.step for one in run.checkpoints.all()), reverse=True)) for run in listed
    ]


def model_folders() -> list[str]:
    """The bundled models, and directories with a config.json in the configured folders and one level below."""
    found = list(BUNDLED)
    for root in settings.STARBOARD_MODEL_FOLDERS:
        try:
            inside = sorted(path.parent for path in [*root.glob("*/config.json"), *root.glob("*/*/config.json")])
        except OSError:
            continue
        found += [str(path) for path in inside[:MOST_FOLDERS]]
    return found


def policy_fields(data: Mapping[str, str], user: User | AnonymousUser | None) -> Fields:
    """The chosen policy as fields of an evaluation; `Refused` with the reason if it cannot be evaluated."""
    kind = data.get("policy", "")
    if kind == PolicyKind.CHECKPOINT:
        return _checkpoint(data.get("checkpoint", ""))
    if kind == PolicyKind.DIRECTORY:
        return _directory(data.get("directory", "").strip())
    if kind == PolicyKind.ENDPOINT:
        return _endpoint(data, user)
    raise Refused("Choose what to evaluate: a checkpoint, a model directory or an endpoint.")


def _checkpoint(text: str) -> Fields:
    run_id, _, digits = text.partition(SEPARATOR)
    step = whole_number(digits)
    run = readable(Run.objects.filter(pk=run_id)).first()
    if run is None or step is None:
        raise Refused("Choose a checkpoint of a run.")
    row = run.checkpoints.filter(step=step).first()
    folder = evaluated_model(run.directory / row.path).resolve() if row is not None else None
    if folder is None or not folder.is_dir():
        raise Refused(f"The checkpoint of step {step} no longer exists. Choose one that is listed.")
    return {
        "policy": PolicyKind.CHECKPOINT,
        "model": str(folder),
        "run": run,
        "run_name": run.name,
        "step": step,
        "training_seed": run.config.get("seed"),
        "configuration": configuration_of(run.config),
        "weights": _weights(str(folder)),
    }


def _directory(path: str) -> Fields:
    if path not in BUNDLED and not (path.startswith("/") and is_in_model_folders(path)):
        listed = ", ".join(str(root) for root in settings.STARBOARD_MODEL_FOLDERS)
        raise Refused(
            f"{path[:200] or 'Nothing'} {NOT_IN_FOLDERS}. Choose one of {', '.join(BUNDLED)}, or a directory in "
            f"{listed} (STARBOARD_MODEL_FOLDERS)."
        )
    return {"policy": PolicyKind.DIRECTORY, "model": path, "weights": _weights(path)}


def _weights(path: str) -> str:
    """Empty for a model that takes long to read; the worker that plays it computes the hash."""
    try:
        check_model_path(path)
        return weights_of(path) if size_of(path) <= LARGEST_HASHED else ""
    except ModelError as error:
        raise Refused(str(error)) from None


def _endpoint(data: Mapping[str, str], user: User | AnonymousUser | None) -> Fields:
    if not is_administrator(user):
        raise Refused(f"{ADMINISTRATORS} {SERVER}")
    address, name = data.get("endpoint", "").strip(), data.get("endpoint_model", "").strip()
    if not ADDRESS.fullmatch(address) or len(address) > 500:
        raise Refused("Address: give that of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1.")
    if not name or len(name) > 500 or name.startswith("-") or not name.isprintable():
        raise Refused("Model: give the name that the endpoint lists.")
    variable = data.get("key_variable", "")
    if variable and variable not in settings.STARBOARD_ENDPOINT_KEYS:
        raise Refused(
            f"API key: {variable[:60]!r} is not in STARBOARD_ENDPOINT_KEYS, the variables that may be sent to an "
            f"endpoint ({', '.join(settings.STARBOARD_ENDPOINT_KEYS) or 'none'})."
        )
    return {
        "policy": PolicyKind.ENDPOINT,
        "model": name,
        "endpoint": address,
        "key_variable": variable,
        "weights": weights_of_endpoint(address, name),
    }
