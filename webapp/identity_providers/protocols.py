"""The classes of django-allauth that speak a provider's protocol, with our addresses."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.provider import OAuth2Provider
from django.http import HttpRequest
from django.urls import reverse

from webapp.identity_providers.configuration import IdentityProvider
from webapp.identity_providers.openid import OpenIdProvider


class OurCallback:
    """Of an adapter, whose `provider_id` is the key of its provider."""

    provider_id: str

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return request.build_absolute_uri(reverse("identity_providers:callback", args=[self.provider_id]))


def provider_of(request: HttpRequest, configured: IdentityProvider) -> Any:
    """An `OAuth2Provider` for this request."""
    return provider_class(configured.key if not configured.issuer else "")(request, app=app_of(configured))


def app_of(configured: IdentityProvider) -> SocialApp:
    """Never saved."""
    settings: dict[str, Any] = {}  # allauth's own for social providers, not all of which take PKCE
    if configured.issuer:
        server = configured.issuer.rstrip("/")
        settings = {"server_url": server, "oauth_pkce_enabled": True, "scope": list(configured.scopes)}
    return SocialApp(
        provider="openid_connect" if configured.issuer else configured.key,
        provider_id=configured.key,
        name=configured.name,
        client_id=configured.client_id,
        secret=configured.client_secret,
        settings=settings,
    )


def speaks_oauth2(configured: IdentityProvider) -> bool:
    return bool(configured.issuer) or issubclass(_class_of(configured.key), OAuth2Provider)


@cache
def provider_class(social: str) -> Any:
    """That of OpenID Connect for an empty name."""
    known = _class_of(social) if social else OpenIdProvider
    adapter = type("Adapter", (OurCallback, known.oauth2_adapter_class), {})
    return type("Provider", (known,), {"oauth2_adapter_class": adapter})


def _class_of(social: str) -> Any:
    return import_module(f"allauth.socialaccount.providers.{social}.provider").provider_classes[0]
