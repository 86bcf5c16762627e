"""The sign-in form. The limits are checked before the password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from webapp.accounts.limits import admit, forget
from webapp.security.client_address import client_address


def limited() -> str:
    link = ", or sign in with a link from `make link`" if settings.STARBOARD_SIGN_IN_LINKS else ""
    return f"Too many failed attempts. Try again in five minutes{link}."


class SignInForm(AuthenticationForm):
    def clean(self) -> dict[str, Any]:
        account = self.cleaned_data.get("username") or ""
        if not account or not self.cleaned_data.get("password"):
            return self.cleaned_data
        address = client_address(self.request) if self.request else ""
        if not admit(account, address):
            raise ValidationError(limited(), code="limited")
        cleaned = super().clean()
        forget(account, address)
        return cleaned
