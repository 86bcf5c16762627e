"""JSON for the form and the cards: the preview, manual play and facts. The server keeps no state between calls."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST, require_safe

from engine.config import EnvironmentConfig
from engine.environment_calls.helper import CallFailed
from engine.environments import environment_kinds
from webapp.environments.calls import ask
from webapp.environments.forms import EnvironmentForm
from webapp.environments.models import EnvironmentVersion
from webapp.environments.restrictions import administers, is_allowed
from webapp.projects.access import readable
from webapp.whole_numbers import whole_number

LARGEST_SEED = 2_000_000_000
LONGEST_RESPONSE = 20_000


PARTS = ("states", "baselines")
MOST_CARDS = 500


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """`part=states` draws first states and the prompt; `part=baselines` plays scripted players."""
    part = request.POST.get("part", "states")
    if part not in PARTS:
        return _refused({"part": [f"Unknown part. Use one of: {', '.join(PARTS)}."]})
    return _answer(request, part)


@require_POST
def play(request: HttpRequest) -> HttpResponse:
    """The episode of `seed` after each `response` of the request, in order."""
    responses = request.POST.getlist("response")
    if any(len(response) > LONGEST_RESPONSE for response in responses):
        return _refused({"response": [f"A response may have at most {LONGEST_RESPONSE} characters. Shorten it."]})
    return _answer(request, "play", responses=[response.replace("\r\n", "\n") for response in responses])


@require_safe
def facts(request: HttpRequest) -> HttpResponse:
    """The facts of the versions `v`, as far as a worker has measured them."""
    keys = [key for text in request.GET.getlist("v") if (key := whole_number(text)) is not None][:MOST_CARDS]
    rows = readable(EnvironmentVersion.objects.filter(pk__in=keys)).values_list("pk", "facts")
    return JsonResponse({"facts": {pk: found for pk, found in rows if found}})


def _answer(request: HttpRequest, call: str, **arguments: Any) -> HttpResponse:
    seed = _seed(request)
    if seed is None:
        return _refused({"seed": [f"A seed is a whole number from 0 to {LARGEST_SEED}."]})
    config, errors = _config(request)
    if config is None:
        return _refused(errors)
    seeds: dict[str, dict[str, Any]] = {"states": {"first_seed": seed}, "baselines": {}, "play": {"seed": seed}}
    try:
        answer = ask(call, config, **seeds[call], **arguments)
    except CallFailed as error:
        return _refused({"": [str(error)]})
    if why := answer.get("impossible"):
        return _refused({"max_actions": [why]})
    return JsonResponse({"ok": True, **answer})


def _config(request: HttpRequest) -> tuple[EnvironmentConfig | None, dict[str, list[str]]]:
    """The environment of the request: a stored `version`, or the fields of the form, checked as on saving."""
    if requested := request.POST.get("version", ""):
        number = whole_number(requested)
        version = readable(EnvironmentVersion.objects.filter(pk=number)).first() if number is not None else None
        return (version.parsed(), {}) if version else (None, {"version": ["This environment no longer exists."]})
    kind = request.POST.get("kind", "")
    if not is_allowed(kind, request):
        return None, {"kind": [f"There is no kind {kind!r}. Choose one of: {', '.join(sorted(environment_kinds()))}."]}
    form = EnvironmentForm(request.POST, kind=kind, needs_name=False, solves=False, administrator=administers(request))
    return (form.config, {}) if form.is_valid() else (None, {name: [reason] for name, reason in form.errors.items()})


def _seed(request: HttpRequest) -> int | None:
    seed = whole_number(request.POST.get("seed", "0"))
    return seed if seed is not None and seed <= LARGEST_SEED else None


def _refused(errors: dict[str, list[str]]) -> HttpResponse:
    return JsonResponse({"ok": False, "errors": errors}, status=422)
