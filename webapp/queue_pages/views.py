"""The page of the queue. Runs are moved in it by the controls of a run."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from webapp.queue_pages.contents import SHOWN, contents


@require_safe
def queue_page(request: HttpRequest) -> HttpResponse:
    return render(request, "queue_pages/page.html", {"queue": contents(), "shown": SHOWN})


@require_safe
def rows(request: HttpRequest) -> HttpResponse:
    """The parts of the page that change while runs do."""
    return render(request, "queue_pages/_parts.html", {"queue": contents(), "shown": SHOWN})
