"""Layouts as JSON: the user's own, one by its ID, and saving, changing and deleting them."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods

from webapp.panels.layouts import MOST_LAYOUTS, BadLayout, as_json, read_form
from webapp.panels.models import PanelLayout
from webapp.projects.access import share_a_project


@require_http_methods(["GET", "HEAD", "POST"])
def layouts(request: HttpRequest) -> HttpResponse:
    """The user's layouts; POST saves a new one."""
    user: Any = request.user
    mine = PanelLayout.objects.filter(owner=user).select_related("owner")
    if request.method != "POST":
        return JsonResponse({"layouts": [as_json(layout, user) for layout in mine]})
    if mine.count() >= MOST_LAYOUTS:
        return _refused(f"You have {MOST_LAYOUTS} layouts, which is the limit. Delete one first.")
    try:
        form = read_form(request.body)
    except BadLayout as error:
        return _refused(str(error))
    made = PanelLayout.objects.create(owner=user, name=form.name, charts=form.charts, log=form.log)
    return JsonResponse(as_json(made, user), status=201)


@require_http_methods(["GET", "HEAD", "PUT", "DELETE"])
def layout(request: HttpRequest, pk: int) -> HttpResponse:
    """Whoever shares a project with its owner can view a layout; only its owner can change it."""
    user: Any = request.user
    found = get_object_or_404(PanelLayout.objects.select_related("owner"), pk=pk)
    if found.owner_id != user.pk and not share_a_project(found.owner):
        raise Http404
    if request.method in ("GET", "HEAD"):
        return JsonResponse(as_json(found, user))
    if found.owner_id != user.pk:
        return JsonResponse({"error": "This layout belongs to another user. Save a copy of it."}, status=403)
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
