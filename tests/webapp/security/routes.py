"""The routes of the site, and a URL for each in a small world."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver

from tests.webapp.world import ALERT_SEQ, CHECKPOINT_STEP, World
from webapp.routing import websocket_urlpatterns


def http_routes() -> list[str]:
    return sorted(_walk(get_resolver().url_patterns, ""))


def socket_routes() -> list[str]:
    return sorted(str(pattern.pattern) for pattern in websocket_urlpatterns)


def address(route: str, world: World) -> str:
    """`runs/<str:run_id>/` gives `/runs/4ac…/`."""
    known = {
        "environments": world.environment.pk, "panels": world.layout.pk, "sweeps": world.sweep.pk,
        "evaluations": world.evaluation.pk, "reports": world.report.pk,
        "imports": world.rollouts.pk,
    }  # fmt: skip
    pk = known.get(route.partition("/")[0], world.trajectories[0].pk)
    plain = route.replace("^", "").replace("/?$", "").replace("$", "")
    plain = re.sub(r"<str:run_id>|\(\?P<run_id>.*?\)", world.run.pk, plain)
    plain = re.sub(r"\(\?P<sweep_id>.*?\)", str(world.sweep.pk), plain)
    plain = re.sub(r"\(\?P<environment_id>.*?\)", str(world.environment.pk), plain)
    plain = plain.replace("<str:form>", "csv").replace("<str:secret>", "wrong")
    plain = plain.replace("<slug:slug>", "default").replace("<int:user_id>", str(world.user.pk))
    plain = plain.replace("<int:seq>", str(ALERT_SEQ))
    plain = plain.replace("<int:step>", str(CHECKPOINT_STEP))
    plain = plain.replace("<int:what_if_id>", str(world.what_if.pk))
    plain = plain.replace("<int:preflight_id>", str(world.preflight.pk))
    plain = plain.replace("<int:evaluation_id>", str(world.evaluation.pk))
    plain = plain.replace("<int:import_id>", str(world.rollouts.pk))
    plain = plain.replace("<slug:name>", world.evaluation.version.suite.name)
    plain = re.sub("<int:(item|problem|sample)>", "0", plain)
    plain = re.sub(r"\(\?P<report_id>.*?\)", str(world.report.pk), plain).replace("<str:key>", "no-such-key")
    plain = plain.replace("<uidb64>", "MQ").replace("<token>", "wrong").replace("<slug:provider>", "oidc")
    return "/" + re.sub(r"<int:pk>", str(pk), plain)


def _walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[str]:
    for pattern in patterns:
        route = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        else:
            yield route
