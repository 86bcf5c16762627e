"""What the Checkpoints tab does: evaluate one on held-out problems, stop that, and download one."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse
from django.views.decorators.http import require_POST, require_safe

from webapp.evaluations import requests
from webapp.evaluations.requests import checkpoint_at
from webapp.jobs import Refused
from webapp.projects.access import fetch
from webapp.projects.models import Role
from webapp.run_pages.checkpoint_archive import archive_of
from webapp.run_pages.snapshot import run_snapshot
from webapp.runs.models import Run
from webapp.streamed import streamed


@require_POST
def evaluate(request: HttpRequest, run_id: str, step: int) -> JsonResponse:
    """Queues an evaluation; 409 with the reason if it is not accepted."""
    run = fetch(Run, needs=Role.EDITOR, pk=run_id)
    try:
        requests.submit(run, step, _user(request))
    except Refused as refused:
        return JsonResponse({"error": str(refused), "state": run_snapshot(run)}, status=409)
    return JsonResponse({"error": "", "state": run_snapshot(run)})


@require_POST
def stop(request: HttpRequest, run_id: str, step: int) -> JsonResponse:
    run = fetch(Run, needs=Role.EDITOR, pk=run_id)
    stopped = requests.stop(run, step, _user(request))
    problem = "" if stopped else f"No evaluation of step {step} is in progress."
    return JsonResponse({"error": problem, "state": run_snapshot(run)}, status=200 if stopped else 409)


@require_safe
def download(request: HttpRequest, run_id: str, step: int) -> HttpResponseBase:
    """A tar archive with the weights and the configuration."""
    run = fetch(Run, pk=run_id)
    checkpoint = checkpoint_at(run, step)
    archive = archive_of(run, checkpoint) if checkpoint is not None else None
    if archive is None:
        raise Http404(f"There is no checkpoint of step {step} any more.")
    return streamed(
        request,
        archive.chunks(),
        name=f"{run.pk}-step_{step}.tar",
        content_type="application/x-tar",
        size=archive.size,
    )


def _user(request: HttpRequest) -> Any:
    return request.user
