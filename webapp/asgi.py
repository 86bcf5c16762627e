"""The ASGI application: pages and REST by Django, sockets by Channels, both behind `OriginGuard`, with request ids."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup(set_prefix=False)  # before the imports below: they need the apps to be loaded

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402

from webapp.monitoring.log_fields import RequestIds  # noqa: E402
from webapp.monitoring.measuring import CountedSockets  # noqa: E402
from webapp.request_threads import ThreadedHandler  # noqa: E402
from webapp.routing import websocket_urlpatterns  # noqa: E402
from webapp.security.body_limit import BodyLimit  # noqa: E402
from webapp.security.guard import OriginGuard  # noqa: E402
from webapp.security.sockets import KnownSocketsOnly  # noqa: E402

django_pages = ThreadedHandler()
application = RequestIds(
    OriginGuard(
        ProtocolTypeRouter(
            {
                "http": BodyLimit(django_pages),
                "websocket": KnownSocketsOnly(CountedSockets(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))),
            }
        )
    )
)
