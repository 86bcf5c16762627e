"""The pages between here and a provider."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render


def onward(request: HttpRequest, name: str, address: str) -> HttpResponse:
    """Sends the browser to the provider. Our Content-Security-Policy (`form-action`) forbids a redirect of a form to
    another site, and each further one by the provider, whose addresses we do not know."""
    return render(request, "identity_providers/onward.html", {"name": name, "address": address})


def refused(request: HttpRequest, name: str, reason: str, status: int = 403) -> HttpResponse:
    context = {"name": name, "reason": reason, "signed_in": request.user.is_authenticated}
    return render(request, "identity_providers/refused.html", context, status=status)


def cancelled(request: HttpRequest, name: str) -> HttpResponse:
    messages.info(request, f"The sign-in through {name} was cancelled.")
    return redirect("account:page" if request.user.is_authenticated else "accounts:login")
