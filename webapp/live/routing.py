"""The sockets: `/ws/runs/<id>/?after=<seq>` follows one run, `/ws/runs/` the list of runs."""

from __future__ import annotations

from typing import Any

from django.urls import path

from webapp.live.consumers import RunConsumer, RunsConsumer

websocket_urlpatterns: list[Any] = [
    path("ws/runs/", RunsConsumer.as_asgi()),
    path("ws/runs/<str:run_id>/", RunConsumer.as_asgi()),
]
