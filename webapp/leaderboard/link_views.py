"""Public links to a leaderboard: the page on which users make and revoke them, and what they show."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.leaderboard.board import read_board
from webapp.leaderboard.links import MOST, link_of, new_link, revoke, working_links
from webapp.leaderboard.models import PublicLink
from webapp.leaderboard.query import read_query
from webapp.leaderboard.views import MOST_EXPORTED, board_context, exported
from webapp.projects.access import fetch
from webapp.projects.reader import reading_as
from webapp.suites.models import Suite
from webapp.whole_numbers import whole_number


@require_http_methods(["GET", "HEAD", "POST"])
def links(request: HttpRequest) -> HttpResponse:
    """GET lists the user's links; POST makes one of the leaderboard of the form, and shows its address, this once."""
    user = cast(User, request.user)  # anonymous users are redirected to sign in
    if request.method != "POST":
        return _page(request, user)
    query = read_query(QueryDict(request.POST.get("query", "")).dict())
    suite = fetch(Suite, name=query.suite)
    if working_links(user) >= MOST:
        return _page(request, user, error=f"You have {MOST} public links, which is the limit. Revoke one first.")
    secret = new_link(user, suite, query.address())
    address = request.build_absolute_uri(reverse("leaderboard:public", args=[secret]))
    return _page(request, user, fresh=address)


@require_POST
def revoke_link(request: HttpRequest, pk: int) -> HttpResponse:
    if revoke(cast(User, request.user), pk):
        messages.success(request, "The link was revoked. Its address shows nothing from now on.")
    return redirect("leaderboard:links")


@login_not_required
@require_safe
def public(request: HttpRequest, secret: str) -> HttpResponse:
    """One leaderboard, read-only, with what its owner may read and without links to anything else of the site. A
    revoked link is as unknown as a wrong one."""
    link = link_of(secret)
    if link is None:
        raise Http404("There is no such page.")
    page = whole_number(request.GET.get("page", "")) or 1
    query = read_query({**QueryDict(link.query).dict(), "page": str(page)})
    form = request.GET.get("format", "")
    with reading_as(link.owner):
        board = read_board(link.suite, query, **({"most": MOST_EXPORTED} if form else {}))
        if form:
            return exported(board, form)
        return render(request, "leaderboard/public.html", board_context(board, public=True))


def _page(request: HttpRequest, user: User, *, fresh: str = "", error: str = "") -> HttpResponse:
    found = PublicLink.objects.filter(owner=user).select_related("suite")
    context = {"links": found, "fresh": fresh, "error": error}
    return render(request, "leaderboard/links.html", context, status=422 if error else 200)
