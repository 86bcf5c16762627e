"""The form of username and password. It asks the limits before it looks at the password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from webapp.accounts.limits import forget, record_failure, too_many

LIMITED = "Too many wrong passwords. Wait five minutes, or get a sign-in link with `make link`."


class SignInForm(AuthenticationForm):
    def clean(self) -> dict[str, Any]:
        account = self.cleaned_data.get("username") or ""
        if not account or not self.cleaned_data.get("password"):
            return self.cleaned_data
        if too_many(account):
            raise ValidationError(LIMITED, code="limited")
        try:
            cleaned = super().clean()
        except ValidationError:
            record_failure(account)
            raise
        forget(account)
        return cleaned
