"""All endpoints, in the order of the documentation."""

from __future__ import annotations

from webapp.api.endpoints import Endpoint
from webapp.api.resources import (
    checkpoints,
    comparisons,
    deletion,
    environments,
    evaluations,
    exports,
    imports,
    ingestion,
    leaderboard,
    played_evaluations,
    projects,
    queue,
    recorded,
    reports,
    runs,
    steering,
    sweeps,
    telemetry,
    trajectories,
    verdicts,
    what_ifs,
)

RESOURCES = (
    runs.resource,
    steering.resource,
    deletion.resource,
    telemetry.resource,
    verdicts.resource,
    recorded.resource,
    trajectories.resource,
    exports.resource,
    checkpoints.resource,
    what_ifs.resource,
    environments.resource,
    projects.resource,
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
