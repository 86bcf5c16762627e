"""The REST API: runs, their events and metrics, and actions on them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404

from engine.verdict.regimes import ENTROPY, Per
from webapp.api import labels
from webapp.api.answers import api, problem, run_summary
from webapp.api.schema import openapi
from webapp.live.bands import metric_bands
from webapp.live.outline import outline
from webapp.live.reading import events_after, metric_series
from webapp.queries import BadQuery, Query
from webapp.runs import live_settings, services
from webapp.runs.labels import label as label_run
from webapp.runs.lineage import lineage_facts
from webapp.runs.models import Run
from webapp.runs.settings_history import as_json, history_of
from webapp.runs.states import RunState
from webapp.runs.verdicts import regimes_of, status_of

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
    """Newest first. `after` is the ID of the last run of the previous page."""
    query = Query(request, ("state", "after", "limit", "archived", "project", "tag"))
    limit = query.integer("limit", 50, low=1, high=500)
    state = query.choice("state", RunState.values)
    archived = query.choice("archived", ("0", "1")) == "1"
    runs = Run.objects.filter(archived_at__isnull=not archived).order_by("-created_at", "-id")
    if state is not None:
        runs = runs.filter(state=state)
    if "project" in query.values:
        runs = runs.filter(project=query.values["project"])
    if "tag" in query.values:
        runs = runs.filter(tags__name=query.values["tag"])
    if after := query.values.get("after"):
        last = Run.objects.filter(pk=after).first()
        if last is None:
            raise BadQuery(
                f"after is {after[:60]!r}, which is not a run. Send the ID of the last run of the previous page."
            )
        runs = runs.filter(created_at__lt=last.created_at)
    found = list(runs.prefetch_related("tags")[: limit + 1])
    return JsonResponse({"runs": [run_summary(run) for run in found[:limit]], "more": len(found) > limit})


@api("GET", "HEAD")
def run_detail(request: HttpRequest, run_id: str) -> HttpResponse:
    Query(request, ())
    run = get_object_or_404(Run.objects.select_related("forked_from"), pk=run_id)
    return JsonResponse(
        {
            **run_summary(run),
            "status": asdict(status_of(run)),
            "verdict": run.verdict or None,
            "config": run.config,
            "settings_history": as_json(history_of(run)),
            "ancestors": lineage_facts(run)["ancestors"],
        }
    )


@api("GET", "HEAD")
def run_verdict(request: HttpRequest, run_id: str) -> HttpResponse:
    """The verdict as the engine recorded it, and as `python -m engine assess --json` prints it."""
    Query(request, ())
    verdict = get_object_or_404(Run, pk=run_id).verdict
    return JsonResponse(verdict) if verdict else problem(404, "The run has no verdict yet", "Wait for its first step.")


@api("GET", "HEAD")
def run_regimes(request: HttpRequest, run_id: str) -> HttpResponse:
    """The regime of each diagnosed step, with H(Z|X) `per` thought or token, and where the regimes end."""
    query = Query(request, ("per",))
    per: Per = "token" if query.choice("per", tuple(ENTROPY)) == "token" else "thought"
    found = regimes_of(get_object_or_404(Run, pk=run_id), per)
    borders = found.borders.model_dump() if found.borders is not None else None
    return JsonResponse({**found._asdict(), "borders": borders})


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
    keys = query.comma_separated("keys", most=MOST_KEYS)
    points = query.integer("points", 1000, low=1, high=MOST_POINTS)
    first, last = query.window()
    return JsonResponse(metric_series(get_object_or_404(Run, pk=run_id), keys, points, first=first, last=last))


@api("GET", "HEAD")
def run_bands(request: HttpRequest, run_id: str) -> HttpResponse:
    """Metrics in buckets of steps, as charts draw them; only steps that have one of the metrics `having`, if given."""
    query = Query(request, ("keys", "buckets", "from", "to", "having"))
    keys, having = query.comma_separated("keys", most=MOST_KEYS), query.comma_separated("having", most=MOST_KEYS)
    buckets = query.integer("buckets", 600, low=1, high=MOST_BUCKETS)
    first, last = query.window()
    run = get_object_or_404(Run, pk=run_id)
    return JsonResponse(metric_bands(run, keys, buckets, first=first, last=last, having=having))


@api("GET", "HEAD")
def run_outline(request: HttpRequest, run_id: str) -> HttpResponse:
    """Lifecycle events, the times of the newest steps, and the names of all metrics."""
    Query(request, ())
    return JsonResponse(outline(get_object_or_404(Run, pk=run_id)))


@api("POST")
def run_control(request: HttpRequest, run_id: str) -> HttpResponse:
    """Takes `{"action": "pause"}`; answers 409 if the state of the run does not allow the action."""
    Query(request, ())
    run = get_object_or_404(Run, pk=run_id)
    action = _action(request)
    if action not in ACTIONS:
        return problem(400, f"Unknown action {action!r}", f"Send one of {', '.join(ACTIONS)}.")
    if not ACTIONS[action](run, request.user if request.user.is_authenticated else None):
        label = RunState(run.state).label.lower()
        return problem(409, f"Cannot {action} a run that is {label}", "Retrieve the run and check its state.")
    run.refresh_from_db()
    return JsonResponse(run_summary(run))


@api("POST")
def run_settings(request: HttpRequest, run_id: str) -> HttpResponse:
    """Takes `{"changes": {"optimizer.learning_rate": 1e-5}, "revision": 2}`; changes apply from the next step on.

    `revision`, if sent, is the revision that the client read. Answers 409 if the run's state or revision does not allow
    the changes, and 422 with errors by field if they are invalid.
    """
    Query(request, ())
    run = get_object_or_404(Run, pk=run_id)
    body = _body(request)
    wanted, revision = body.get("changes"), body.get("revision")
    if not isinstance(wanted, dict) or not (revision is None or type(revision) is int):
        example = '{"changes": {"optimizer.learning_rate": 1e-5}, "revision": 0}'
        return problem(400, "The body has no valid `changes`", f"Send a JSON object such as {example}.")
    try:
        changes = live_settings.change(run, wanted, request.user, revision=revision)
    except live_settings.Refused as refusal:
        remedy = (
            "Retrieve the run and try again."
            if refusal.conflict
            else "Fix the fields in `errors`. Nothing was changed."
        )
        answer = {"error": str(refusal), "remedy": remedy, "errors": refusal.errors}
        return JsonResponse(answer, status=409 if refusal.conflict else 422)
    run.refresh_from_db()
    return JsonResponse({"changes": changes, "run": run_summary(run)})


@api("POST")
def run_labels(request: HttpRequest, run_id: str) -> HttpResponse:
    """Takes `{"project": "sokoban", "tags": ["baseline"], "notes": "…"}`, or some of these; tags replace all others."""
    Query(request, ())
    run = get_object_or_404(Run, pk=run_id)
    body = _body(request)
    if errors := labels.errors_of(body):
        remedy = "Fix the fields in `errors`. Nothing was changed."
        return JsonResponse({"error": " ".join(errors.values()), "remedy": remedy, "errors": errors}, status=422)
    tags = [tag.strip() for tag in body["tags"]] if "tags" in body else None
    label_run(run, request.user, project=body.get("project"), tags=tags, notes=body.get("notes"))
    run.refresh_from_db()
    return JsonResponse(run_summary(run))


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
    """The JSON object of the body; an empty one if the body is not a JSON object."""
    try:
        body: Any = json.loads(request.body) if len(request.body) <= LONGEST_BODY else {}
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
