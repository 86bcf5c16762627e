"""The OpenAPI document, and the page that shows it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from webapp.api.openapi import openapi
from webapp.api.reference import sections


@require_safe
def openapi_document(request: HttpRequest) -> JsonResponse:
    return JsonResponse(openapi())


@require_safe
def reference(request: HttpRequest) -> HttpResponse:
    about = openapi()["info"]["description"].split("\n\n")
    return render(request, "api/reference.html", {"sections": sections(), "about": about})
