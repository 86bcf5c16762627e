"""The page on which administrators set the quotas of users."""

from __future__ import annotations

from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from webapp.audit.services import entries_of_accounts, record_of
from webapp.quotas.limits import FIELDS, default_limits
from webapp.quotas.models import UserQuota
from webapp.whole_numbers import whole_number


class QuotaForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs alone
    class Meta:
        model = UserQuota
        fields = FIELDS


@require_http_methods(["GET", "HEAD", "POST"])
def quotas(request: HttpRequest) -> HttpResponse:
    """GET shows all users, POST sets the limits of one; an empty field is the default of the installation."""
    administrator = cast(User, request.user)
    if not administrator.is_staff:
        raise PermissionDenied
    return _save(request, administrator) if request.method == "POST" else _page(request)


def _save(request: HttpRequest, administrator: User) -> HttpResponse:
    user = get_object_or_404(User, pk=whole_number(request.POST.get("user", "")) or 0)
    own = UserQuota.objects.filter(pk=user.pk).first() or UserQuota(user=user)
    before = {name: getattr(own, name) for name in FIELDS}
    form = QuotaForm(request.POST, instance=own)
    if not form.is_valid():
        return _page(request, wrong=(user.pk, form))
    own.changed_by, own.changed_at = administrator.get_username(), timezone.now()
    with transaction.atomic():
        form.save()
        if changes := _changes(before, own):
            record_of(user, administrator, "quota", changes=changes)
    messages.success(request, f"The quota of {user.get_username()} was saved.")
    return redirect("account:quotas")


def _changes(before: dict[str, int | None], own: UserQuota) -> dict[str, dict[str, int | str]]:
    after = {name: getattr(own, name) for name in FIELDS}
    return {
        name: {"old": _shown(before[name]), "new": _shown(after[name])}
        for name in FIELDS
        if before[name] != after[name]
    }


def _shown(limit: int | None) -> int | str:
    return "default" if limit is None else limit


def _page(request: HttpRequest, wrong: tuple[int, QuotaForm] | None = None) -> HttpResponse:
    own = UserQuota.objects.in_bulk()
    rows = []
    for user in User.objects.filter(is_active=True).order_by("username"):
        form = QuotaForm(instance=own.get(user.pk))
        if wrong is not None and wrong[0] == user.pk:
            form = QuotaForm(request.POST)
        rows.append({"user": user, "form": form, "own": own.get(user.pk)})
    context = {"rows": rows, "default": default_limits(), "entries": entries_of_accounts()}
    return render(request, "account_page/quotas.html", context, status=422 if wrong else 200)
