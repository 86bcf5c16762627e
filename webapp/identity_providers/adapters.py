"""What django-allauth asks of us while somebody signs in."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError, AuthProcess
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.shortcuts import redirect
from requests import RequestException

from webapp.accounts.views import MODEL_BACKEND
from webapp.identity_providers.admission import NotAdmitted, admit, connect
from webapp.identity_providers.openid import OpenIdProvider, has_nonce
from webapp.identity_providers.pages import cancelled, refused
from webapp.identity_providers.protocols import app_of, provider_of

log = logging.getLogger(__name__)
FAILED = "identity_failed"  # on a request, if nobody was authenticated


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # without types
    def login(self, request: HttpRequest, user: User) -> None:
        login(request, user, backend=MODEL_BACKEND)

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False  # accounts are created by `admit`

    def add_message(self, *_: Any, **__: Any) -> None:
        """Pages of ours say what happened."""


class IdentityAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # without types
    def list_apps(self, request: HttpRequest, provider: str | None = None, client_id: str | None = None) -> list[Any]:
        """From the settings alone. Some adapters of allauth look their own up."""
        configured = settings.STARBOARD_IDENTITY_PROVIDERS
        wanted = configured.values() if provider is None else filter(None, [configured.get(provider)])
        return [app_of(one) for one in wanted]

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> Any:
        configured = settings.STARBOARD_IDENTITY_PROVIDERS.get(provider)
        if configured is None:
            raise SocialApp.DoesNotExist
        return provider_of(request, configured)

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """After the provider has said who it is."""
        provider = sociallogin.provider
        if isinstance(provider, OpenIdProvider) and not has_nonce(sociallogin):
            self.on_authentication_error(request, provider, exception=ValueError("the id token has another nonce"))
        try:
            if sociallogin.state.get("process") == AuthProcess.CONNECT:
                connect(request, sociallogin)
                raise ImmediateHttpResponse(redirect("account:page"))
            admit(sociallogin)
        except NotAdmitted as reason:
            log.warning("A sign-in through %s was refused: %s", provider.sub_id, reason.logged)
            raise ImmediateHttpResponse(refused(request, provider.name, str(reason))) from None

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: str = "", exception: Exception | None = None, **_: Any
    ) -> None:
        if error == AuthError.CANCELLED:
            raise ImmediateHttpResponse(cancelled(request, provider.name))
        setattr(request, FAILED, True)
        log.warning("A sign-in through %s failed: %s", provider.sub_id, exception or "the request has no known state")
        if isinstance(exception, RequestException):
            raise ImmediateHttpResponse(
                refused(request, provider.name, f"{provider.name} cannot be reached. Try again later.", status=502)
            )
        reason = "The sign-in could not be completed: it took too long, or its answer was not valid. Start it again."
        raise ImmediateHttpResponse(refused(request, provider.name, reason))
