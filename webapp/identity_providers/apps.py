"""Refuses, at the start, providers that sign in by another protocol than OAuth 2."""

from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class IdentityProvidersConfig(AppConfig):
    name = "webapp.identity_providers"

    def ready(self) -> None:
        from webapp.identity_providers.protocols import speaks_oauth2

        for one in settings.STARBOARD_IDENTITY_PROVIDERS.values():
            if not speaks_oauth2(one):
                raise ImproperlyConfigured(
                    f"STARBOARD_SOCIAL_PROVIDERS has {one.key!r}, which does not use OAuth 2. Remove it."
                )
