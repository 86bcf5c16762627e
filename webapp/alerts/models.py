"""Who is notified of alerts and how, and every delivery with its attempts."""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.utils import timezone

from webapp.runs.models import Run

ALERT_RAISED = "alert.raised"
SEVERITIES = ("watch", "warn", "critical", "dead")


class Scope(models.TextChoices):
    MINE = "mine", "my runs and runs without an owner"
    ALL = "all", "all runs"


class RunEvents(models.TextChoices):
    NONE = "none", "no"
    FAILED = "failed", "when one fails"
    ENDED = "ended", "whenever one ends"
    ALL = "all", "when one starts or ends"


class Endings(models.TextChoices):
    NONE = "none", "no"
    FAILED = "failed", "when one fails"
    ENDED = "ended", "whenever one ends"


class State(models.TextChoices):
    WAITING = "waiting", "waiting"
    SENT = "sent", "sent"
    FAILED = "failed", "failed"


class NotificationSettings(models.Model):
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications")
    scope = models.CharField(max_length=4, choices=Scope.choices, default=Scope.MINE)
    least_severity = models.CharField(max_length=8, choices=[(s, s) for s in SEVERITIES], default="warn")
    run_events = models.CharField(max_length=6, choices=RunEvents.choices, default=RunEvents.NONE)
    endings = models.CharField(max_length=6, choices=Endings.choices, default=Endings.NONE)  # of sweeps and evaluations
    email = models.EmailField(blank=True, default="")
    email_on = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"notifications of {self.user}"


def new_nonce() -> str:
    return secrets.token_hex(16)


class Webhook(models.Model):
    """Its signing secret is derived from `nonce` and the site's key: the database alone does not reveal it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    nonce = models.CharField(max_length=32, default=new_nonce)
    on = models.BooleanField(default=True)
    off_reason = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """One message to one target: about an alert (`seq` of its event), about a run that started or ended (`event`, with
    its state in `detail`), about a sweep or an evaluation that ended (`event`, with the whole of the message in
    `detail`), or a test (neither).

    `channel` is `email:<user>` or `webhook:<id>`; an alert has at most one row per channel.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="deliveries")
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="deliveries")
    seq = models.BigIntegerField(null=True)
    event = models.CharField(max_length=20, default=ALERT_RAISED)
    detail = models.JSONField(default=dict)
    channel = models.CharField(max_length=40)
    target = models.CharField(max_length=500)  # the address at the time
    message_id = models.CharField(max_length=40, unique=True)
    state = models.CharField(max_length=7, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [models.UniqueConstraint(fields=["run", "seq", "channel"], name="one_delivery_per_channel")]
        indexes = [models.Index(fields=["state", "next_at"])]

    def __str__(self) -> str:
        return f"{self.message_id} to {self.channel}: {self.state}"

    @property
    def page(self) -> str:
        """Of the sweep or the evaluation that it is about."""
        return urlsplit(str(self.detail.get("url", ""))).path

    @property
    def about(self) -> str:
        """What that is called."""
        evaluation = self.detail.get("evaluation")
        if evaluation:
            return f"{evaluation['model']} on {evaluation['suite']} v{evaluation['version']}"
        return str(self.detail.get("sweep", {}).get("name", ""))


class DeliveryAttempt(models.Model):
    """`status` is the HTTP status of the receiver, if any; `error` is empty if the delivery succeeded."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="tries")
    number = models.PositiveIntegerField()
    at = models.DateTimeField(default=timezone.now)
    seconds = models.FloatField()
    status = models.PositiveIntegerField(null=True)
    error = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"attempt {self.number}: {self.error or 'sent'}"
