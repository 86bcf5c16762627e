"""The address of this site in messages."""

from __future__ import annotations

from django.conf import settings


def site_address() -> str:
    origins = settings.STARBOARD_EXTRA_ORIGINS
    return origins[0].rstrip("/") if origins else f"http://127.0.0.1:{settings.PORT}"
