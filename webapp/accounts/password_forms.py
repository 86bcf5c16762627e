"""What the forms of a new password have in common."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User

from webapp.accounts.signals import account_changed
from webapp.accounts.tokens import revoke_all, working_tokens


class OffersToRevokeTokens:
    """Mixed into a form with a `user`: offers to revoke the tokens of the API, if there are any. They stay otherwise,
    since a program that needs one should not stop without a word."""

    action = "change_password"  # of the audit log
    user: User
    fields: dict[str, forms.Field]
    cleaned_data: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.user and (tokens := working_tokens(self.user)):
            label = f"Also revoke my API tokens ({tokens})"
            self.fields["revoke_tokens"] = forms.BooleanField(required=False, label=label)

    def save(self, commit: bool = True) -> User:
        user: User = super().save(commit)  # type: ignore[misc]  # of the form
        revoked = revoke_all(user) if self.cleaned_data.get("revoke_tokens") else 0
        account_changed.send(None, user=user, action=self.action, detail={"tokens_revoked": revoked} if revoked else {})
        return user
