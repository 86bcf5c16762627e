"""Messages about sweeps and evaluations on suites that end, planned in the transaction that ends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from webapp.alerts.audience import audience_of, channels_of, new_delivery
from webapp.alerts.deliveries import dispatch_deliveries
from webapp.alerts.models import Delivery, Endings
from webapp.alerts.site import site_address
from webapp.jobs import Job, JobState
from webapp.suites.models import SuiteEvaluation

FAILED = ("sweep.failed", "evaluation.failed")


def plan_ending(event: str, *, owner: int | None, project: int | None, data: Mapping[str, Any]) -> None:
    """A message of type `event` for each channel of those who asked for it. Its content stays as it is now."""
    rows = [
        new_delivery(chosen.user, channel, address, event=event, detail=data)
        for chosen in audience_of(owner, project)
        if chosen.endings == Endings.ENDED or (chosen.endings == Endings.FAILED and event in FAILED)
        for channel, address in channels_of(chosen)
    ]
    if rows:
        Delivery.objects.bulk_create(rows)
        transaction.on_commit(dispatch_deliveries)


def plan_evaluation_ending(job: Job, **_: Any) -> None:
    """A receiver of `job_ended`."""
    if not isinstance(job, SuiteEvaluation):
        return
    job.refresh_from_db()
    state = JobState.FAILED if job.state == JobState.REFUSED else JobState(job.state)
    about = {
        "id": job.pk,
        "suite": job.version.suite.name,
        "version": job.version.number,
        "model": job.policy_name,
        "policy": job.policy,
        "url": f"{site_address()}/evaluations/{job.pk}/",
    }
    numbers = {name: getattr(job, name) for name in ("played", "planned", "scored", "success", "low", "high")}
    data = {"evaluation": about, "state": str(state), "reason": job.message, **numbers, "url": about["url"]}
    plan_ending(f"evaluation.{state}", owner=job.owner_id, project=job.project_id, data=data)
