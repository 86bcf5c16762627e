"""Messages about alerts and runs: planned in the transaction that stores what they are about, sent by a worker, retried
with delays.

Each message is stored as a row first, so that an emptied broker or a killed worker loses none. Delivery is at least
once: a worker that is killed between sending and recording sends it again, with the same `webhook-id`, by which
receivers detect duplicates.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from engine.events import AlertRaised
from webapp.alerts.audience import audience, channels_of, new_delivery
from webapp.alerts.mail import send_mail_of
from webapp.alerts.models import ALERT_RAISED, SEVERITIES, Delivery, DeliveryAttempt, State, Webhook
from webapp.alerts.site import site_address
from webapp.alerts.webhooks import GONE, Answer, secret_of, send
from webapp.broker import send_task
from webapp.runs.models import Alert, Run
from webapp.runs.recorded_events import events_of, newest_of
from workers.app import DELIVER

RETRIES = (30, 120, 600, 3600, 6 * 3600, 24 * 3600)  # seconds after the first, second … attempt
JITTER = 0.2
CLAIM = 120.0  # seconds that one attempt may take before another worker tries
SENT_FIELDS = {"seq", "step", "rule", "severity", "message", "metric", "value", "baseline", "action"}
ROUND = 20.0  # seconds after which a task leaves the remaining ones to the next
_one_at_a_time = threading.Lock()


def plan(run: Run, alerts: Sequence[Alert]) -> None:
    """A row for each alert and recipient; the sender is called after commit.

    A resumed attempt that repeats steps raises their alerts again: nobody is notified of them twice.
    """
    notified = _already_notified(run) if alerts else set()
    rows = [row for alert in alerts if (alert.step, alert.rule) not in notified for row in _rows(run, alert)]
    if rows:
        Delivery.objects.bulk_create(rows, ignore_conflicts=True)
        transaction.on_commit(dispatch_deliveries)


def _already_notified(run: Run) -> set[tuple[int, str]]:
    """Step and rule of alerts that no longer count but have had deliveries. Alerts before the first step, about the
    cluster, are sent each time."""
    counting = run.alerts.values("seq")
    forgotten = run.deliveries.exclude(seq=None).exclude(seq__in=counting).values("seq")
    return {(alert.step, alert.rule) for alert in events_of(run, AlertRaised, step__gt=0, seq__in=forgotten)}


def _rows(run: Run, alert: Alert) -> list[Delivery]:
    found = []
    rank = SEVERITIES.index(alert.severity) if alert.severity in SEVERITIES else 0
    for chosen in audience(run):
        if rank >= SEVERITIES.index(chosen.least_severity):
            channels = channels_of(chosen)
            found += [
                new_delivery(chosen.user, channel, address, run=run, seq=alert.seq) for channel, address in channels
            ]
    return found


def trial_message(user: User, channel: str, target: str) -> Delivery:
    """A test message, sent at once by a caller of `attempt`."""
    row = new_delivery(user, channel, target)
    row.next_at = timezone.now() + timedelta(seconds=CLAIM)  # no worker takes it meanwhile
    row.save()
    return row


def dispatch_deliveries() -> None:
    """Without a broker the rows wait for the next worker's beat."""
    send_task(DELIVER, otherwise="Messages wait")


def deliver_due() -> int:
    """Sends what is due, for some seconds; returns the number of attempts. One thread per process does it at a time."""
    if not _one_at_a_time.acquire(blocking=False):
        return 0
    try:
        made, until = 0, time.monotonic() + ROUND
        while time.monotonic() < until and (delivery := _claim()) is not None:
            attempt(delivery)
            made += 1
        return made
    finally:
        _one_at_a_time.release()


def _claim() -> Delivery | None:
    """The next one that is due, claimed for a while: the first to change its due time has it."""
    now = timezone.now()
    for delivery in Delivery.objects.filter(state=State.WAITING, next_at__lte=now).order_by("next_at")[:10]:
        mine = Delivery.objects.filter(pk=delivery.pk, state=State.WAITING, next_at=delivery.next_at)
        if mine.update(next_at=now + timedelta(seconds=CLAIM)):
            return delivery
    return None


def attempt(delivery: Delivery, *, retry: bool = True) -> Answer:
    """Sends it once, and records the result and the time of the next attempt."""
    began = time.monotonic()
    answer = _send(delivery)
    number = delivery.attempts + 1
    DeliveryAttempt.objects.create(
        delivery=delivery,
        number=number,
        seconds=round(time.monotonic() - began, 3),
        status=answer.status,
        error=answer.error[:300],
    )
    values: dict[str, Any] = {"state": State.SENT}
    if answer.error:
        again = retry and answer.status != GONE and number <= len(RETRIES)
        values = {"state": State.WAITING, "next_at": _later(number)} if again else {"state": State.FAILED}
    Delivery.objects.filter(pk=delivery.pk).update(attempts=F("attempts") + 1, **values)
    delivery.refresh_from_db()
    return answer


def _later(number: int) -> Any:
    wait = RETRIES[number - 1] * random.uniform(1 - JITTER, 1 + JITTER)
    return timezone.now() + timedelta(seconds=wait)


def _send(delivery: Delivery) -> Answer:
    kind, _, key = delivery.channel.partition(":")
    message = message_of(delivery)
    if kind == "email":
        return send_mail_of(delivery.target, message)
    webhook = Webhook.objects.filter(pk=key, on=True).first()
    if webhook is None:
        return Answer(status=GONE, error="The webhook was removed or turned off.")
    body = json.dumps(message, separators=(",", ":")).encode()
    answer = send(webhook.url, secret_of(webhook), delivery.message_id, body)
    if answer.status == GONE:
        Webhook.objects.filter(pk=webhook.pk).update(on=False, off_reason="Its receiver answered 410: gone.")
    return answer


def message_of(delivery: Delivery) -> dict[str, Any]:
    """The JSON payload; an e-mail has the same content as text."""
    run, seq = delivery.run, delivery.seq
    timestamp = delivery.created_at.isoformat()
    if run is None and delivery.detail:
        return {"type": delivery.event, "timestamp": timestamp, "data": delivery.detail}
    if run is None:
        return {"type": "test", "timestamp": timestamp, "data": {"message": "This is a test."}}
    if seq is None:
        data = {"run": _run(run), "verdict": _verdict(run), **delivery.detail, "url": page_of(run)}
        return {"type": delivery.event, "timestamp": timestamp, "data": data}
    raised = newest_of(run, AlertRaised, seq=seq)  # the event remains when the alert no longer counts
    alert = raised.model_dump(include=SENT_FIELDS) if raised is not None else dict.fromkeys(SENT_FIELDS)
    data = {"run": _run(run), "verdict": _verdict(run), "alert": alert, "url": f"{page_of(run)}alerts/{seq}/"}
    return {"type": ALERT_RAISED, "timestamp": timestamp, "data": data}


def page_of(run: Run) -> str:
    return f"{site_address()}/runs/{run.pk}/"


def _run(run: Run) -> dict[str, Any]:
    about = {"id": run.pk, "name": run.name, "project": run.project.name, "url": page_of(run)}
    return {**about, "step": run.step, "total_steps": run.total_steps}


def _verdict(run: Run) -> dict[str, Any] | None:
    """The verdict on the run at the time of sending; null before the first step."""
    keys = ("label", "title", "level", "reason", "summary", "step", "since", "rules_version")
    return {key: run.verdict[key] for key in keys} if run.verdict else None
