"""`/metrics` for Prometheus, for those whom `STARBOARD_METRICS_TOKEN` or `STARBOARD_METRICS_NETWORKS` admit."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterable
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from webapp.monitoring import installation_metrics
from webapp.monitoring.measuring import PROCESS
from webapp.monitoring.questions import Question
from webapp.security.client_address import client_address

_questions = {
    "database": Question("metrics database", installation_metrics.from_database),
    "redis": Question("metrics redis", installation_metrics.from_redis),
}


@login_not_required
@require_safe
async def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics of this process and of the installation. What does not answer is missing, and is said to be."""
    if (refused := refusal(request)) is not None:
        return refused
    answers = await asyncio.gather(*(_answer(question) for question in _questions.values()))
    answered = {name: answer is not None for name, answer in zip(_questions, answers, strict=True)}
    found = [metric for answer in answers for metric in answer or []]
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    everything = _registry([*PROCESS.collect(), *found, installation_metrics.reachable(answered)])
    return HttpResponse(encode(everything), content_type=content_type)


def refusal(request: HttpRequest) -> HttpResponse | None:
    """None for a client that is admitted: by each of the two settings that is set, and one of them has to be."""
    token, networks = settings.STARBOARD_METRICS_TOKEN, settings.STARBOARD_METRICS_NETWORKS
    if not token and not networks:
        raise Http404("Metrics are off. Set STARBOARD_METRICS_TOKEN or STARBOARD_METRICS_NETWORKS.")
    if networks and not _is_in(client_address(request), networks):
        return HttpResponse("This address is in none of STARBOARD_METRICS_NETWORKS.\n", "text/plain", status=403)
    given = request.headers.get("Authorization", "")
    if token and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        reason = "Send STARBOARD_METRICS_TOKEN as `Authorization: Bearer …`.\n"
        return HttpResponse(reason, "text/plain", status=401, headers={"WWW-Authenticate": "Bearer"})
    return None


async def _answer(question: Question[list[Metric]]) -> list[Metric] | None:
    try:
        return await question.answer()
    except Exception:  # of any driver; `starboard_reachable` says so
        return None


def _is_in(address: str, networks: Iterable[str]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed in ip_network(network, strict=False) for network in networks)


class _Found(Collector):
    def __init__(self, metrics: list[Metric]) -> None:
        self.metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self.metrics


def _registry(metrics: list[Metric]) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_Found(metrics))
    return registry
