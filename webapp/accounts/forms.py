"""The sign-in form. The limits are checked before the password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from webapp.accounts.limits import forget, record_failure, too_many


def limited() -> str:
    link = ", or sign in with a link from `make link`" if settings.STARBOARD_SIGN_IN_LINKS else ""
    return f"Too many failed attempts. Try again in five minutes{link}."


class SignInForm(AuthenticationForm):
    def clean(self) -> dict[str, Any]:
        account = self.cleaned_data.get("username") or ""
        if not account or not self.cleaned_data.get("password"):
            return self.cleaned_data
        address = (self.request.META.get("REMOTE_ADDR") if self.request else None) or ""
        if too_many(account, address):
            raise ValidationError(limited(), code="limited")
        try:
            cleaned = super().clean()
        except ValidationError:
            record_failure(account, address)
            raise
        forget(account, address)
        return cleaned
