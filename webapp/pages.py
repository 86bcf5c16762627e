"""Pages that belong to no app: the home page, the glossary, and the style guide."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from engine.glossary.terms import TERMS
from webapp.glossary_page import index, sections
from webapp.launching.presets import run_presets, saved_presets
from webapp.styleguide import examples


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return redirect("runs:list")


@require_safe
def styleguide(request: HttpRequest) -> HttpResponse:
    return render(request, "styleguide.html", examples())


@require_safe
def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "glossary.html", {"sections": sections(), "terms": TERMS})


@require_safe
def palette(request: HttpRequest) -> JsonResponse:
    """What the palette finds beside pages and runs: metrics of the glossary, and presets to start from."""
    presets = run_presets() | saved_presets(request.user)
    found = [{"key": key, "title": preset.title} for key, preset in presets.items()]
    return JsonResponse({"metrics": index(), "presets": found})
