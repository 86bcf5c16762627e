"""All endpoints, in the order of the documentation."""

from __future__ import annotations

from webapp.api.endpoints import Endpoint
from webapp.api.resources import (
    comparisons,
    deletion,
    evaluations,
    exports,
    imports,
    ingestion,
    leaderboard,
    played_evaluations,
    queue,
    recorded,
    reports,
    runs,
    steering,
    sweeps,
    telemetry,
    verdicts,
)

RESOURCES = (
    runs.resource,
    steering.resource,
    deletion.resource,
    telemetry.resource,
    verdicts.resource,
    recorded.resource,
    exports.resource,
    sweeps.resource,
    queue.resource,
    evaluations.resource,
    leaderboard.resource,
    ingestion.resource,
    imports.resource,
    played_evaluations.resource,
    comparisons.resource,
    reports.resource,
)
ENDPOINTS: list[Endpoint] = [endpoint for resource in RESOURCES for endpoint in resource.endpoints]
