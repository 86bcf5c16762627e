"""The page of one's own account: e-mail address, password and sessions."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from webapp.account_page.forms import ChangePasswordForm, ConfirmForm, EmailForm
from webapp.accounts.tokens import working_tokens
from webapp.actions import Action, show_or_act
from webapp.audit.services import entries_of, record_of
from webapp.identity_providers.identities import connectable, disconnect, identities_of
from webapp.identity_providers.views import start_connecting
from webapp.quotas.limits import limits_of, who_can_raise
from webapp.runs.quotas import used_by
from webapp.security.client_address import client_address
from webapp.user_sessions.browsers import browser_name
from webapp.user_sessions.services import end_others, end_session, sessions_of
from webapp.whole_numbers import whole_number


@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    return show_or_act(request, _page, ACTIONS)


def _change_email(request: HttpRequest, user: User) -> HttpResponse:
    form = EmailForm(user, request.POST, address=client_address(request))
    if not form.is_valid():
        return _page(request, user, email_form=form)
    with transaction.atomic():
        form.save()
        record_of(user, user, "change_email")
    messages.success(request, "The e-mail address was saved.")
    return redirect("account:page")


def _change_password(request: HttpRequest, user: User) -> HttpResponse:
    form = ChangePasswordForm(user, request.POST, address=client_address(request))
    if not form.is_valid():  # outside of the transaction: other requests have to see an attempt before it is checked
        return _page(request, user, password_form=form)
    with transaction.atomic():
        form.save()
        update_session_auth_hash(request, user)
        end_others(user, request.session.session_key)
    messages.success(request, "The password was changed, and all other sessions were ended.")
    return redirect("account:page")


@transaction.atomic
def _end(request: HttpRequest, user: User) -> HttpResponse:
    if end_session(user, request.POST.get("session", "")):
        record_of(user, user, "end_sessions", sessions=1)
        messages.success(request, "The session was ended. Pages that it has open are closed.")
    return redirect("account:page")


@transaction.atomic
def _end_others(request: HttpRequest, user: User) -> HttpResponse:
    if ended := end_others(user, request.session.session_key):
        record_of(user, user, "end_sessions", sessions=ended)
    messages.success(request, f"{ended} other session{' was' if ended == 1 else 's were'} ended.")
    return redirect("account:page")


def _change_identities(request: HttpRequest, user: User) -> HttpResponse:
    """Disconnects one, or is on the way to a provider, which answers to `identity_providers.views.callback`."""
    form = ConfirmForm(user, request.POST, address=client_address(request))
    if not form.is_valid():
        return _page(request, user, confirm_form=form)
    if wanted := request.POST.get("connect", ""):
        return start_connecting(request, user, wanted)
    if disconnect(user, whole_number(request.POST.get("disconnect", "")) or 0):
        messages.success(request, "It was disconnected, and no longer signs in to this account.")
    return redirect("account:page")


ACTIONS: dict[str, Action] = {
    "email": _change_email,
    "password": _change_password,
    "identities": _change_identities,
    "end": _end,
    "end_others": _end_others,
}


def _page(request: HttpRequest, user: User, **forms: Any) -> HttpResponse:
    """With a form that has errors, or else new ones."""
    sessions = [
        {
            "handle": one.handle,
            "browser": browser_name(one.browser),
            "address": one.address,
            "started_at": one.started_at,
            "last_used_at": one.last_used_at,
            "is_this": one.pk == request.session.session_key,
        }
        for one in sessions_of(user)
    ]
    context = {
        "email_form": EmailForm(user),
        "password_form": ChangePasswordForm(user),
        "has_password": user.has_usable_password(),
        "confirm_form": ConfirmForm(user),
        "identities": identities_of(user),
        "connectable": connectable(user),
        "entries": entries_of(user),
        "sessions": sessions,
        "tokens": working_tokens(user),
        "used": used_by(user.pk),
        "limits": (limits := limits_of(user.pk)),
        "is_limited": limits.limited,
        "who_can_raise": who_can_raise(),
        **forms,
    }
    return render(request, "account_page/page.html", context, status=422 if forms else 200)
