"""JSON for the form: the preview and manual play. The server keeps no state between calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST

from engine.config import EnvironmentConfig
from engine.environments import ENVIRONMENTS
from webapp.environments import preview as previews
from webapp.environments.forms import EnvironmentForm
from webapp.environments.models import EnvironmentVersion
from webapp.environments.play import replay
from webapp.whole_numbers import whole_number

LARGEST_SEED = 2_000_000_000
LONGEST_RESPONSE = 20_000


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """`part=states` draws first states and the prompt; `part=baselines` plays scripted players."""
    part = previews.PARTS.get(request.POST.get("part", "states"))
    if part is None:
        return _refused({"part": [f"Unknown part. Use one of: {', '.join(previews.PARTS)}."]})
    return _answer(request, part)


@require_POST
def play(request: HttpRequest) -> HttpResponse:
    """The episode of `seed` after each `response` of the request, in order."""
    responses = request.POST.getlist("response")
    if any(len(response) > LONGEST_RESPONSE for response in responses):
        return _refused({"response": [f"A response may have {LONGEST_RESPONSE} characters. Shorten it."]})
    return _answer(request, lambda config, seed: replay(config, seed, responses))


def _answer(request: HttpRequest, work: Callable[[EnvironmentConfig, int], dict[str, Any]]) -> HttpResponse:
    seed = _seed(request)
    if seed is None:
        return _refused({"seed": [f"A seed is a whole number from 0 to {LARGEST_SEED}."]})
    config, errors = _config(request)
    if config is None:
        return _refused(errors)
    try:
        return JsonResponse({"ok": True, **work(config, seed)})
    except Exception as error:  # user code may raise anything
        return _refused({"": [f"The environment raised {type(error).__name__} with seed {seed}: {error}"]})


def _config(request: HttpRequest) -> tuple[EnvironmentConfig | None, dict[str, list[str]]]:
    """The environment of the request: a stored `version`, or the fields of the form, checked as on saving."""
    if requested := request.POST.get("version", ""):
        number = whole_number(requested)
        version = EnvironmentVersion.objects.filter(pk=number).first() if number is not None else None
        return (version.parsed(), {}) if version else (None, {"version": ["This environment no longer exists."]})
    kind = request.POST.get("kind", "")
    if kind not in ENVIRONMENTS:
        return None, {"kind": [f"There is no kind {kind!r}. Choose one of: {', '.join(sorted(ENVIRONMENTS))}."]}
    form = EnvironmentForm(request.POST, kind=kind, needs_name=False)
    return (form.config, {}) if form.is_valid() else (None, {name: [reason] for name, reason in form.errors.items()})


def _seed(request: HttpRequest) -> int | None:
    seed = whole_number(request.POST.get("seed", "0"))
    return seed if seed is not None and seed <= LARGEST_SEED else None


def _refused(errors: dict[str, list[str]]) -> HttpResponse:
    return JsonResponse({"ok": False, "errors": errors}, status=422)
