"""All endpoints, in the order of the documentation."""

from __future__ import annotations

from webapp.api.endpoints import Endpoint
from webapp.api.resources import ingestion, leaderboard, runs, steering, suites, telemetry, verdicts

RESOURCES = (
    runs.resource,
    steering.resource,
    telemetry.resource,
    verdicts.resource,
    suites.resource,
    leaderboard.resource,
    ingestion.resource,
)
ENDPOINTS: list[Endpoint] = [endpoint for resource in RESOURCES for endpoint in resource.endpoints]
