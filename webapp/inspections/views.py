"""The page on models: those that ship, and any other by its path, inspected before it is used."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engine.environment_calls.helper import CallFailed
from engine.errors import ModelError
from engine.policies.model_paths import BUNDLED, check_revision
from engine.policies.model_shape import model_shape
from engine.revisions import REVISION, versioned
from webapp.environments.model_access import check_access, check_adapter_access
from webapp.worker_calls import ask_worker, is_alone
from workers.app import INSPECT

SECONDS = 28.0  # importing transformers takes most of it
ALONE_SECONDS = 200.0  # in tests, several of which run at once
LONGEST_PATH = 500
LONGEST_REVISION = 200


@require_safe
def models(request: HttpRequest) -> HttpResponse:
    path = request.GET.get("path", "").strip()[:LONGEST_PATH]
    revision = request.GET.get("revision", "").strip()[:LONGEST_REVISION]
    adapter = request.GET.get("adapter", "").strip()[:LONGEST_PATH]
    context: dict[str, Any] = {"path": path, "revision": revision, "adapter": adapter, "bundled": _bundled()}
    if path:
        try:
            context["report"] = _inspected(path, revision, adapter)
        except (CallFailed, ModelError) as error:
            context["failure"] = str(error)
    return render(request, "inspections/models.html", context)


def _inspected(path: str, revision: str, adapter: str) -> dict[str, Any]:
    check_access(path)
    if revision:
        _check_revision(path, revision)
    if adapter:
        check_adapter_access(adapter)
    named = versioned(path, revision)
    if not is_alone():
        return ask_worker(INSPECT, named, adapter, seconds=SECONDS, what="models are inspected")
    from workers.model_inspections import inspect

    return inspect(named, ALONE_SECONDS, adapter)


def _check_revision(path: str, revision: str) -> None:
    if not re.fullmatch(REVISION, revision):
        raise ModelError(
            f"{revision!r} is not the name of a revision.", remedy="Give a branch, a tag or a commit, such as main."
        )
    check_revision(path, revision)


def _bundled() -> list[dict[str, Any]]:
    return [{"name": name, "parameters": model_shape(name).parameters} for name in BUNDLED]
