"""Pages on which a forgotten password is replaced: Django's own views and tokens."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordResetConfirmView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_http_methods

from webapp.accounts.password_forms import OffersToRevokeTokens
from webapp.accounts.password_reset import admit_request, mail_is_configured, request_mail
from webapp.security.client_address import client_address
from webapp.user_sessions.services import end_others

TOO_MANY = "Too many requests. Try again in five minutes."
NOT_SENT = "The mail cannot be sent at the moment. Try again in a few minutes."


class AddressForm(forms.Form):
    email = forms.EmailField(
        label="E-mail address",
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        error_messages={"required": "Enter the e-mail address of your account."},
    )


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def reset(request: HttpRequest) -> HttpResponse:
    """Answers the same whether or not an account has the address."""
    form = AddressForm(request.POST if request.method == "POST" else None)
    sent = False
    if mail_is_configured() and form.is_valid():
        email = form.cleaned_data["email"]
        if not admit_request(email, client_address(request)):
            form.add_error(None, TOO_MANY)
        elif not request_mail(email, host=request.get_host(), secure=request.is_secure()):
            form.add_error(None, NOT_SENT)
        else:
            sent = True
    context = {
        "form": form,
        "sent": sent,
        "mail": mail_is_configured(),
        "contact": settings.STARBOARD_CONTACT,
        "sign_in_links": settings.STARBOARD_SIGN_IN_LINKS,
    }
    status = 422 if context["mail"] and form.errors else 200
    return render(request, "accounts/password_reset.html", context, status=status)


class NewPasswordForm(OffersToRevokeTokens, SetPasswordForm):  # type: ignore[type-arg]  # generic in its stubs alone
    action = "reset_password"


@method_decorator(login_not_required, name="dispatch")
class NewPasswordView(PasswordResetConfirmView):
    """A new password ends every session of the account."""

    template_name = "accounts/new_password.html"
    form_class = NewPasswordForm
    success_url = reverse_lazy("accounts:login")

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        end_others(cast(User, self.user), None)
        messages.success(self.request, "The password was changed, and all sessions were ended. Sign in with it.")
        return answer


new_password = NewPasswordView.as_view()
