"""Socket URLs: `/ws/runs/<id>/?after=<seq>` follows one run, `/ws/runs/` the list of runs.

`/ws/runs/<id>/what-ifs/<what-if>/?after=<seq>` follows a what-if, `/ws/evaluations/<pk>/` an evaluation on a suite,
`/ws/imports/<pk>/` an import of rollouts.
"""

from __future__ import annotations

from typing import Any

from django.urls import path

from webapp.launching.consumer import ImportConsumer
from webapp.run_pages.consumers import RunConsumer, RunsConsumer
from webapp.suites.consumer import EvaluationConsumer
from webapp.whatif.consumer import WhatIfConsumer

websocket_urlpatterns: list[Any] = [
    path("ws/runs/", RunsConsumer.as_asgi()),
    path("ws/runs/<str:run_id>/", RunConsumer.as_asgi()),
    path("ws/evaluations/<int:pk>/", EvaluationConsumer.as_asgi()),
    path("ws/imports/<int:pk>/", ImportConsumer.as_asgi()),
    path("ws/runs/<str:run_id>/what-ifs/<int:what_if_id>/", WhatIfConsumer.as_asgi()),
]
