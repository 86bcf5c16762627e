"""Signing in, by link or by password, and signing out. The only pages that need no sign-in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.forms import SignInForm
from webapp.accounts.services import Refused, use_token
from webapp.updates import publish_user

MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


@login_not_required
@require_GET
def sign_in(request: HttpRequest) -> HttpResponse:
    """Uses up the link's token. The redirect removes the token from the address bar and the history."""
    if not settings.STARBOARD_SIGN_IN_LINKS:
        raise PermissionDenied
    found = use_token(request.GET.get("token", ""))
    if isinstance(found, Refused):
        context = {"reason": found.value, "signed_in": request.user.is_authenticated}
        return render(request, "accounts/link_refused.html", context, status=403)
    login(request, found, backend=MODEL_BACKEND)
    return redirect(settings.LOGIN_REDIRECT_URL)


@method_decorator(login_not_required, name="dispatch")
class PasswordView(LoginView):
    template_name = "accounts/login.html"
    form_class = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        return super().get_context_data(
            sign_in_links=settings.STARBOARD_SIGN_IN_LINKS,
            identity_providers=settings.STARBOARD_IDENTITY_PROVIDERS.values(),
            **context,
        )


password = PasswordView.as_view()


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    user = request.user
    logout(request)
    if user.pk is not None:
        publish_user(user.pk)  # closes the sockets of the session
    return redirect(settings.LOGOUT_REDIRECT_URL)
