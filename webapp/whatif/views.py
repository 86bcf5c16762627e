"""The form of a what-if, the page that shows it with the original, and the JSON behind both."""

from __future__ import annotations

import math
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engine.errors import RunDirectoryError
from engine.what_if.request import EDITS
from webapp.idempotency.forms import once
from webapp.jobs import Refused
from webapp.projects.access import fetch
from webapp.projects.models import Role
from webapp.runs.models import Run
from webapp.trajectories.models import Trajectory
from webapp.whatif import services
from webapp.whatif.hints import Hint, hint_of
from webapp.whatif.models import WhatIf
from webapp.whatif.origins import ForkedOrigin, Origin, RecordedOrigin

LONGEST_NUMBER = 12  # digits
LARGEST = 1e12


@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, run_id: str, pk: int) -> HttpResponse:
    """GET shows the turn and what can be edited; POST submits the what-if and redirects to its page."""
    trajectory = fetch(Trajectory.all_attempts.select_related("run"), needs=Role.EDITOR, pk=pk, run_id=run_id)
    return _submit(request, RecordedOrigin(trajectory))


@require_http_methods(["GET", "HEAD", "POST"])
def fork(request: HttpRequest, run_id: str, what_if_id: int) -> HttpResponse:
    """The same for the trajectory of a what-if."""
    return _submit(request, ForkedOrigin(_what_if(run_id, what_if_id, needs=Role.EDITOR)))


def _submit(request: HttpRequest, origin: Origin) -> HttpResponse:
    if request.method != "POST":
        return _form(request, origin)

    def submit() -> str:
        made = services.submit(origin, request.user, _fields(request))
        return reverse("whatif:detail", args=[origin.run.pk, made.pk])

    try:
        return redirect(once(request, submit))
    except Refused as refused:
        return _form(request, origin, problem=str(refused))


@require_safe
def detail(request: HttpRequest, run_id: str, what_if_id: int) -> HttpResponse:
    what_if = _what_if(run_id, what_if_id)
    return render(
        request,
        "whatif/detail.html",
        {
            "run": what_if.run,
            "what_if": what_if,
            "original": what_if.original(),
            "chain": [*what_if.ancestors(), what_if] if what_if.parent else [],
            "children": what_if.children.all()[:10],
            "edit": EDITS.get(what_if.edit, what_if.edit),
        },
    )


@require_safe
def events(request: HttpRequest, run_id: str, what_if_id: int) -> HttpResponse:
    """The messages of its socket: the events after a cursor, and the state."""
    what_if = _what_if(run_id, what_if_id)
    after = request.GET.get("after", "0")
    if not _is_number(after):
        return JsonResponse({"error": "after must be the seq of an event, a whole number."}, status=400)
    return JsonResponse(services.updates_after(what_if, int(after)))


@require_safe
def data(request: HttpRequest, run_id: str, what_if_id: int) -> HttpResponse:
    try:
        return JsonResponse(services.record(_what_if(run_id, what_if_id)))
    except RunDirectoryError as error:
        return JsonResponse({"error": {"message": error.message, "remedy": error.remedy}}, status=410)


@require_POST
def stop(request: HttpRequest, run_id: str, what_if_id: int) -> HttpResponse:
    services.stop(_what_if(run_id, what_if_id, needs=Role.EDITOR), request.user)
    return redirect("whatif:detail", run_id, what_if_id)


def _what_if(run_id: str, what_if_id: int, needs: Role = Role.VIEWER) -> WhatIf:
    return fetch(WhatIf.objects.select_related("run", "owner"), needs=needs, pk=what_if_id, run_id=run_id)


def _fields(request: HttpRequest) -> dict[str, Any]:
    """The fields of the form, as the engine names them; `Refused` for one that is not a number."""
    edit = request.POST.get("edit", "nothing")
    return {
        "turn": int(_number(request, "turn", "1")) - 1,
        "edit": edit,
        # browsers send lines with CR LF; what the model reads has LF
        "text": request.POST.get(edit, "").replace("\r\n", "\n") if edit in ("action", "response", "prompt") else "",
        "checkpoint": request.POST.get("checkpoint", ""),
        "temperature": _number(request, "temperature", "1"),
        "seed": int(_number(request, "seed", "0")),
    }


def _number(request: HttpRequest, name: str, default: str) -> float:
    text = request.POST.get(name, default).strip() or default
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or abs(number) > LARGEST:
        raise Refused(f"The {name} {text[:40]!r} is not a valid number.")
    return number


def _form(request: HttpRequest, origin: Origin, *, problem: str = "") -> HttpResponse:
    run = origin.run
    record: dict[str, Any] = {"turns": []}
    obstacle = origin.obstacle()
    try:
        record = record if obstacle else origin.record()
    except RunDirectoryError as error:
        problem = problem or str(error)
    turn = _chosen_turn(request, len(record["turns"]))
    parsed = record["turns"][turn]["parsed"] if record["turns"] else []
    hint = hint_of(run, record, turn) if record["turns"] else Hint()
    context = {
        "run": run,
        "origin": origin,
        "turns": range(1, len(record["turns"]) + 1),
        "turn": turn + 1,
        "recorded": record["turns"][turn] if record["turns"] else None,
        "drawing": _state_before(record, turn),
        "hint": hint,
        "recorded_action": hint.written(parsed),
        "is_text": hint.is_long_text or any("\n" in action for action in parsed),
        "edits": EDITS,
        "edit": request.POST.get("edit", "nothing"),
        "typed": {name: request.POST.get(name, "") for name in ("action", "response", "prompt")},
        "checkpoints": run.checkpoints.order_by("-step"),
        "checkpoint": request.POST.get("checkpoint", _newest_checkpoint(run)),
        "temperature": request.POST.get("temperature") or run.config.get("rollout", {}).get("temperature", 1.0),
        "seed": request.POST.get("seed") or "0",
        "problem": "" if obstacle else problem,
        "obstacle": obstacle,
        "earlier": origin.what_ifs()[:10],
        "most_tokens": services.MOST_TOKENS,
        "most_minutes": services.MOST_SECONDS / 60,
    }
    return render(request, "whatif/new.html", context, status=422 if problem and request.method == "POST" else 200)


def _chosen_turn(request: HttpRequest, count: int) -> int:
    """The requested turn, or the nearest that exists; counted from 0."""
    text = request.POST.get("turn") or request.GET.get("turn") or "1"
    return min(max(int(text) - 1, 0), max(count - 1, 0)) if _is_number(text) else 0


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER


def _newest_checkpoint(run: Run) -> str:
    newest = run.checkpoints.order_by("-step").first()
    return f"step_{newest.step}" if newest else ""


def _state_before(record: dict[str, Any], turn: int) -> dict[str, Any] | None:
    """The drawing of the state in which the turn began."""
    frames = [frame for earlier in record["turns"][:turn] for frame in earlier.get("frames", [])]
    drawing = frames[-1]["drawing"] if frames else record.get("initial", {}).get("drawing")
    return drawing if isinstance(drawing, dict) else None
