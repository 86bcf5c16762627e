"""All endpoints, in the order of the documentation."""

from __future__ import annotations

from webapp.api.endpoints import Endpoint
from webapp.api.resources import comparisons, ingestion, reports, runs, steering, telemetry, verdicts

RESOURCES = (
    runs.resource,
    steering.resource,
    telemetry.resource,
    verdicts.resource,
    ingestion.resource,
    comparisons.resource,
    reports.resource,
)
ENDPOINTS: list[Endpoint] = [endpoint for resource in RESOURCES for endpoint in resource.endpoints]
