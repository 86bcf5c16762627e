"""Who may sign in through a provider, and as which user.

A user is found by the provider's identity alone, never by an e-mail address. Addresses here are not verified: whoever
entered somebody else's would be given their sign-in, and whoever makes a provider say somebody's address would be given
their account. A user who has an account connects it, with its password.
"""

from __future__ import annotations

from typing import cast

from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest

from webapp.audit.services import record_of
from webapp.identity_providers.configuration import Admission, IdentityProvider
from webapp.identity_providers.new_users import new_user


class NotAdmitted(Exception):
    """A sentence for the user; `logged` has nothing personal."""

    def __init__(self, sentence: str, logged: str) -> None:
        self.logged = logged
        super().__init__(sentence)


def admit(login: SocialLogin) -> None:
    """Gives the login its user, a new one if the identity is unknown; `NotAdmitted` otherwise."""
    provider = configured_of(login)
    address = _address(login, provider)
    with transaction.atomic():
        if login.user is None or login.user.pk is None:
            login.user = _create(login, provider, address)
        user = cast(User, login.user)
        if not user.is_active:
            raise NotAdmitted("Your account here is disabled. Ask an administrator.", "the account is disabled")
        _set_administrator(user, login, provider)


def connect(request: HttpRequest, login: SocialLogin) -> None:
    """Connects the identity to the user who asked for it, and is still signed in."""
    provider = configured_of(login)
    user = request.user
    if not isinstance(user, User) or user.pk != login.state.get("user"):
        raise NotAdmitted("You are no longer signed in. Sign in, and connect it again.", "not signed in")
    if login.user is not None and login.user.pk is not None:
        if login.user.pk != user.pk:
            raise NotAdmitted(
                f"Your identity at {provider.name} is connected to another account here. Sign in with it, or "
                "disconnect it there.",
                "the identity belongs to another user",
            )
        return
    _address(login, provider)
    with transaction.atomic():
        login.account.user = user
        login.account.save()
        record_of(user, user, "connect_identity", provider=provider.name)


def configured_of(login: SocialLogin) -> IdentityProvider:
    found: IdentityProvider = settings.STARBOARD_IDENTITY_PROVIDERS[login.account.provider]
    return found


def _address(login: SocialLogin, provider: IdentityProvider) -> str:
    """A verified e-mail address by which the user is admitted, or an empty one if none is needed."""
    rules: Admission = settings.STARBOARD_ADMISSION
    groups = set(login.account.extra_data.get("groups", [])) if provider.issuer else set()
    if provider.groups and not groups & (provider.groups | provider.administrator_groups):
        raise NotAdmitted(
            f"You are in none of the groups of {provider.name} that may sign in here. Ask an administrator.",
            "in none of the groups",
        )
    verified = [one.email for one in login.email_addresses if one.verified and one.email]
    if not verified and not rules.without_verified_email:
        raise NotAdmitted(
            f"{provider.name} does not say that your e-mail address is verified. Verify it there, and sign in again.",
            "no verified e-mail address",
        )
    admitted = [one for one in verified if not rules.domains or one.rpartition("@")[2].lower() in rules.domains]
    if verified and not admitted:
        raise NotAdmitted(
            f"Sign in with an e-mail address of {' or '.join(sorted(rules.domains))}: yours at {provider.name} is of "
            "another domain.",
            "another domain",
        )
    return admitted[0] if admitted else ""


def _create(login: SocialLogin, provider: IdentityProvider, address: str) -> User:
    if address and User.objects.filter(email__iexact=address).exists():
        raise NotAdmitted(
            f"An account here has the address {address} already. Sign in to it with its password, then connect "
            f"{provider.name} on the page Account.",
            "the address is that of an account",
        )
    suggested = login.user.username if login.user is not None else ""
    user = new_user(suggested or address.partition("@")[0], address, settings.STARBOARD_ADMISSION.role)
    login.account.user = user
    login.account.save()
    record_of(user, user, "create_account", provider=provider.name)
    return user


def _set_administrator(user: User, login: SocialLogin, provider: IdentityProvider) -> None:
    """Accounts with a password were made here, and stay what they were made."""
    if not provider.administrator_groups or user.has_usable_password():
        return
    is_one = bool(set(login.account.extra_data.get("groups", [])) & provider.administrator_groups)
    if user.is_staff != is_one:
        user.is_staff = is_one
        user.save(update_fields=["is_staff"])
        changes = {"administrator": {"old": not is_one, "new": is_one}}
        record_of(user, None, "administrator", changes=changes, provider=provider.name)
