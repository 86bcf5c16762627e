"""How a sweep ends: finished, stopped by a user, or stopped since its runs fail one after another."""

from __future__ import annotations

from collections import Counter

from django.db import transaction
from django.utils import timezone

from webapp.alerts.endings import plan_ending
from webapp.alerts.site import site_address
from webapp.runs.states import TERMINAL
from webapp.sweeps.models import Sweep, SweepState
from webapp.sweeps.proposals import FAILURES

FAILED_IN_A_ROW = 3


def end(sweep: Sweep, state: SweepState, reason: str = "", *, failed: bool = False) -> bool:
    """Ends a sweep that is running, and notifies its audience; False if it is over already."""
    with transaction.atomic():
        running = Sweep.objects.filter(pk=sweep.pk, state=SweepState.RUNNING)
        if not running.update(state=state, ended_at=timezone.now(), stopped_because=reason):
            return False
        happened = "failed" if failed else str(state)
        data = _data(sweep, happened, reason)
        plan_ending(f"sweep.{happened}", owner=sweep.owner_id, project=sweep.project_id, data=data)
    return True


def stop_if_failing(sweep: Sweep) -> bool:
    """Whether the sweep was stopped, since a configuration that cannot work would otherwise take its place in the queue
    again and again. Runs that are live go on."""
    reason = why_failing(sweep)
    return bool(reason) and end(sweep, SweepState.STOPPED, reason, failed=True)


def why_failing(sweep: Sweep) -> str:
    """The reason if the runs that ended last, since the sweep was last resumed, failed as often as retries allow."""
    ended = sweep.planned.filter(run__state__in=TERMINAL, run__finished_at__isnull=False, pruned="")
    if sweep.resumed_at is not None:
        ended = ended.filter(run__finished_at__gte=sweep.resumed_at)
    newest = list(ended.select_related("run").order_by("-run__finished_at", "-order")[:FAILED_IN_A_ROW])
    runs = [row.run for row in newest if row.run and row.run.state in FAILURES and row.retries >= sweep.retries]
    if len(runs) < FAILED_IN_A_ROW:
        return ""
    newest_one = f"{runs[0].name}: {runs[0].state_reason or 'no reason was recorded.'}"
    return (
        f"{FAILED_IN_A_ROW} runs in a row failed. The newest is {newest_one} Resume goes on with the other runs; allow "
        "more retries to queue these again."
    )


def _data(sweep: Sweep, state: str, reason: str) -> dict[str, object]:
    counts = Counter(state or "planned" for state in sweep.planned.values_list("run__state", flat=True))
    about = {"id": sweep.pk, "name": sweep.name, "url": f"{site_address()}/sweeps/{sweep.pk}/"}
    runs = {"total": counts.total(), "planned": counts["planned"], **counts}
    return {"sweep": about, "state": state, "reason": reason, "runs": runs, "url": about["url"]}
