"""The REST API: runs, their events after a cursor, their metrics, and requests to them."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404

from webapp.api.answers import api, problem, run_summary
from webapp.api.schema import openapi
from webapp.live.bands import metric_bands
from webapp.live.outline import outline
from webapp.live.reading import events_after, metric_series
from webapp.queries import BadQuery, Query
from webapp.run_pages.judgement import health
from webapp.runs import live_settings, services
from webapp.runs.models import Run
from webapp.runs.states import RunState

ACTIONS = {
    "stop": services.request_stop,
    "pause": services.request_pause,
    "resume": services.request_resume,
    "checkpoint": services.request_checkpoint,
    "archive": services.archive,
}
MOST_EVENTS = 5000
MOST_POINTS = 20_000
MOST_BUCKETS = 5000
MOST_KEYS = 100
LONGEST_BODY = 256 * 1024


@api("GET", "HEAD")
def run_list(request: HttpRequest) -> HttpResponse:
    """Newest first. `after` is the id of the last run of the page before."""
    query = Query(request, ("state", "after", "limit", "archived"))
    limit = query.integer("limit", 50, low=1, high=500)
    state = query.choice("state", RunState.values)
    archived = query.choice("archived", ("0", "1")) == "1"
    runs = Run.objects.filter(archived_at__isnull=not archived).order_by("-created_at", "-id")
    if state is not None:
        runs = runs.filter(state=state)
    if after := query.values.get("after"):
        last = Run.objects.filter(pk=after).first()
        if last is None:
            raise BadQuery(f"after is {after[:60]!r}, which is no run. Send the id of the last run you have.")
        runs = runs.filter(created_at__lt=last.created_at)
    found = list(runs[: limit + 1])
    return JsonResponse({"runs": [run_summary(run) for run in found[:limit]], "more": len(found) > limit})


@api("GET", "HEAD")
def run_detail(request: HttpRequest, run_id: str) -> HttpResponse:
    Query(request, ())
    run = get_object_or_404(Run, pk=run_id)
    return JsonResponse({**run_summary(run), "health": health(run), "config": run.config})


@api("GET", "HEAD")
def run_events(request: HttpRequest, run_id: str) -> HttpResponse:
    """Events with a greater `seq` than `after`, as the engine wrote them; `last_seq` is the next `after`."""
    query = Query(request, ("after", "limit"))
    after = query.integer("after", 0)
    limit = query.integer("limit", 500, low=1, high=MOST_EVENTS)
    events = events_after(get_object_or_404(Run, pk=run_id), after, limit + 1)
    shown = events[:limit]
    last = shown[-1]["seq"] if shown else after
    return JsonResponse({"events": shown, "last_seq": last, "more": len(events) > limit})


@api("GET", "HEAD")
def run_metrics(request: HttpRequest, run_id: str) -> HttpResponse:
    query = Query(request, ("keys", "points", "from", "to"))
    keys = query.words("keys", most=MOST_KEYS)
    points = query.integer("points", 1000, low=1, high=MOST_POINTS)
    first, last = query.window()
    return JsonResponse(metric_series(get_object_or_404(Run, pk=run_id), keys, points, first=first, last=last))


@api("GET", "HEAD")
def run_bands(request: HttpRequest, run_id: str) -> HttpResponse:
    """Metrics in buckets of steps, as charts draw them; `having` names metrics of which a step must have one."""
    query = Query(request, ("keys", "buckets", "from", "to", "having"))
    keys, having = query.words("keys", most=MOST_KEYS), query.words("having", most=MOST_KEYS)
    buckets = query.integer("buckets", 600, low=1, high=MOST_BUCKETS)
    first, last = query.window()
    run = get_object_or_404(Run, pk=run_id)
    return JsonResponse(metric_bands(run, keys, buckets, first=first, last=last, having=having))


@api("GET", "HEAD")
def run_outline(request: HttpRequest, run_id: str) -> HttpResponse:
    """What a page starts from: what happened, the newest steps' times, and the names of all metrics."""
    Query(request, ())
    return JsonResponse(outline(get_object_or_404(Run, pk=run_id)))


@api("POST")
def run_control(request: HttpRequest, run_id: str) -> HttpResponse:
    """`{"action": "pause"}`; 409 if the run is in a state that does not allow it."""
    Query(request, ())
    run = get_object_or_404(Run, pk=run_id)
    action = _action(request)
    if action not in ACTIONS:
        return problem(400, f"There is no action {action!r}", f"Send one of {', '.join(ACTIONS)}.")
    if not ACTIONS[action](run, request.user if request.user.is_authenticated else None):
        label = RunState(run.state).label.lower()
        return problem(409, f"A run that is {label} cannot do this: {action}", "Read the run's state, then choose.")
    run.refresh_from_db()
    return JsonResponse(run_summary(run))


@api("POST")
def run_settings(request: HttpRequest, run_id: str) -> HttpResponse:
    """`{"changes": {"optimizer.learning_rate": 1e-5}, "revision": 2}`: from the next step on, as the page's form does.

    `revision`, if sent, is that of the settings which the asker saw. 409: not in this state, or others changed them
    meanwhile. 422: by field, why not.
    """
    Query(request, ())
    run = get_object_or_404(Run, pk=run_id)
    asked = _body(request)
    wanted, revision = asked.get("changes"), asked.get("revision")
    if not isinstance(wanted, dict) or not (revision is None or type(revision) is int):
        example = '{"changes": {"optimizer.learning_rate": 1e-5}, "revision": 0}'
        return problem(400, "The body asks for no changes", f"Send a JSON object like {example}.")
    try:
        changes = live_settings.change(run, wanted, request.user, revision=revision)
    except live_settings.Refused as refusal:
        remedy = "Read the run, then ask again." if refusal.late else "Mend what `errors` names. Nothing was changed."
        answer = {"error": str(refusal), "remedy": remedy, "errors": refusal.errors}
        return JsonResponse(answer, status=409 if refusal.late else 422)
    run.refresh_from_db()
    return JsonResponse({"changes": changes, "run": run_summary(run)})


@api("GET", "HEAD")
def openapi_document(request: HttpRequest) -> HttpResponse:
    Query(request, ())
    return JsonResponse(openapi())


def _action(request: HttpRequest) -> str:
    """From a JSON body or a form."""
    if request.content_type != "application/json":
        return str(request.POST.get("action", ""))[:60]
    return str(_body(request).get("action", ""))[:60]


def _body(request: HttpRequest) -> dict[str, Any]:
    """A JSON object; an empty one where the body is none."""
    try:
        body: Any = json.loads(request.body) if len(request.body) <= LONGEST_BODY else {}
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
