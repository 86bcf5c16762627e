"""The forms of the account page. Both ask for the password: whoever finds an open browser must not keep the account."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User

from webapp.accounts.limits import admit, forget
from webapp.accounts.password_forms import OffersToRevokeTokens

COUNTED_AS = "password of "  # no name of an account has a space
TOO_MANY = "Too many wrong passwords. Try again in five minutes."
WRONG = "The password is wrong."


class ChangePasswordForm(OffersToRevokeTokens, PasswordChangeForm):
    def __init__(self, user: User, data: Any = None, *, address: str = "") -> None:
        super().__init__(user, data)
        self.address = address
        self.fields["old_password"].widget.attrs.pop("autofocus", None)

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        check_password(self.user, password, self.address)
        return password


class EmailForm(forms.Form):
    email = forms.EmailField(label="E-mail address", required=False, max_length=254)
    password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        error_messages={"required": "Enter your password to change the address."},
    )

    def __init__(self, user: User, data: Any = None, *, address: str = "") -> None:
        super().__init__(data, initial={"email": user.email})
        self.user, self.address = user, address

    def clean_password(self) -> None:
        check_password(self.user, self.cleaned_data["password"], self.address)

    def save(self) -> None:
        self.user.email = self.cleaned_data["email"]
        self.user.save(update_fields=["email"])


class ConfirmForm(forms.Form):
    """A password that confirms a change, shown once for several buttons."""

    confirm_password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        error_messages={"required": "Enter your password to change how you sign in."},
    )

    def __init__(self, user: User, data: Any = None, *, address: str = "") -> None:
        super().__init__(data)
        self.user, self.address = user, address

    def clean_confirm_password(self) -> None:
        check_password(self.user, self.cleaned_data["confirm_password"], self.address)


def check_password(user: User, password: str, address: str) -> None:
    """Raises `ValidationError`. Wrong ones are limited as those of signing in are."""
    account = COUNTED_AS + user.get_username()
    if not admit(account, address):
        raise forms.ValidationError(TOO_MANY)
    if not user.check_password(password):
        raise forms.ValidationError(WRONG)
    forget(account, address)
