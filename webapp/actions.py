"""Pages on which a form says by its button what it does: `action`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse

Action = Callable[[HttpRequest, User], HttpResponse]


def show_or_act(request: HttpRequest, show: Action, actions: Mapping[str, Action]) -> HttpResponse:
    """GET shows the page, POST performs one of `actions`."""
    user = cast(User, request.user)  # anonymous users are redirected to sign in
    if request.method != "POST":
        return show(request, user)
    action = request.POST.get("action", "")
    if action not in actions:
        return HttpResponse(f"Unknown action {action[:40]!r}.", status=400, content_type="text/plain")
    return actions[action](request, user)
