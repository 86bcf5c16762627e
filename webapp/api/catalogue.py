"""All endpoints, in the order of the documentation."""

from __future__ import annotations

from webapp.api.endpoints import Endpoint
from webapp.api.resources import exports, ingestion, recorded, runs, steering, telemetry, verdicts

RESOURCES = (
    runs.resource,
    steering.resource,
    telemetry.resource,
    verdicts.resource,
    recorded.resource,
    exports.resource,
    ingestion.resource,
)
ENDPOINTS: list[Endpoint] = [endpoint for resource in RESOURCES for endpoint in resource.endpoints]
