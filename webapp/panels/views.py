"""Layouts as JSON: one's own, one by its id, and keeping, changing and deleting them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods

from webapp.panels.layouts import MOST_LAYOUTS, BadLayout, as_json, read_form
from webapp.panels.models import PanelLayout


@require_http_methods(["GET", "HEAD", "POST"])
def layouts(request: HttpRequest) -> HttpResponse:
    """One's own layouts; POST keeps a new one."""
    user: Any = request.user
    mine = PanelLayout.objects.filter(owner=user).select_related("owner")
    if request.method != "POST":
        return JsonResponse({"layouts": [as_json(layout, user) for layout in mine]})
    if mine.count() >= MOST_LAYOUTS:
        return _refused(f"You keep {MOST_LAYOUTS} layouts, which is the most. Delete one first.")
    try:
        form = read_form(request.body)
    except BadLayout as error:
        return _refused(str(error))
    made = PanelLayout.objects.create(owner=user, name=form.name, charts=form.charts, log=form.log)
    return JsonResponse(as_json(made, user), status=201)


@require_http_methods(["GET", "HEAD", "PUT", "DELETE"])
def layout(request: HttpRequest, pk: int) -> HttpResponse:
    """Anybody's to look through; its owner's to change."""
    user: Any = request.user
    found = get_object_or_404(PanelLayout.objects.select_related("owner"), pk=pk)
    if request.method in ("GET", "HEAD"):
        return JsonResponse(as_json(found, user))
    if found.owner_id != user.pk:
        return JsonResponse({"error": "This layout is somebody else's. Keep a copy under your own name."}, status=403)
    if request.method == "DELETE":
        found.delete()
        return HttpResponse(status=204)
    try:
        form = read_form(request.body)
    except BadLayout as error:
        return _refused(str(error))
    found.name, found.charts, found.log = form.name, form.charts, form.log
    found.save(update_fields=["name", "charts", "log", "updated_at"])
    return JsonResponse(as_json(found, user))


def _refused(reason: str) -> JsonResponse:
    return JsonResponse({"error": reason}, status=400)
