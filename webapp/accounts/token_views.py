"""The page on which users create personal tokens, see when they were last used, and revoke them."""

from __future__ import annotations

from datetime import timedelta

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from webapp.accounts.models import LONGEST_TOKEN_NAME, PersonalToken, Scope
from webapp.accounts.signals import account_changed
from webapp.accounts.tokens import MOST_TOKENS, new_token, revoke, working_tokens
from webapp.actions import show_or_act
from webapp.whole_numbers import whole_number

LIFETIMES = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year"))
USUAL_LIFETIME = 90


class TokenForm(forms.Form):
    name = forms.CharField(max_length=LONGEST_TOKEN_NAME, error_messages={"required": "Give it a name."})
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.READ.value],
        error_messages={"required": "Choose at least one scope."},
    )
    days = forms.TypedChoiceField(choices=LIFETIMES, coerce=int, initial=USUAL_LIFETIME)


@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """POST creates a token and shows it, this once, or revokes one."""
    return show_or_act(request, _new_page, {"create": _create, "revoke": _revoke})


def _new_page(request: HttpRequest, user: User) -> HttpResponse:
    return _page(request, user, TokenForm())


def _create(request: HttpRequest, user: User) -> HttpResponse:
    form = TokenForm(request.POST)
    if form.is_valid() and working_tokens(user) >= MOST_TOKENS:
        form.add_error(None, f"You have {MOST_TOKENS} tokens, which is the limit. Revoke one first.")
    if not form.is_valid():
        return _page(request, user, form, status=422)
    given = form.cleaned_data
    with transaction.atomic():
        fresh = new_token(
            user,
            name=given["name"],
            scopes=[Scope(scope) for scope in given["scopes"]],
            lifetime=timedelta(days=given["days"]),
        )
        about = {"token": given["name"], "scopes": ", ".join(given["scopes"]), "days": given["days"]}
        account_changed.send(None, user=user, action="create_token", detail=about)
    return _page(request, user, TokenForm(), fresh=fresh)


def _revoke(request: HttpRequest, user: User) -> HttpResponse:
    pk = whole_number(request.POST.get("token", ""))
    if pk is not None and _revoked(user, pk):
        messages.success(request, "The token was revoked. Requests with it are refused from now on.")
    return redirect("accounts:tokens")


@transaction.atomic
def _revoked(user: User, pk: int) -> bool:
    if not revoke(user, pk):
        return False
    name = PersonalToken.objects.values_list("name", flat=True).get(pk=pk)
    account_changed.send(None, user=user, action="revoke_token", detail={"token": name})
    return True


def _page(request: HttpRequest, user: User, form: TokenForm, *, fresh: str = "", status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "fresh": fresh,
        "tokens": PersonalToken.objects.filter(user=user),
        "address": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "accounts/tokens.html", context, status=status)
