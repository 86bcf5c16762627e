"""A run and what its engine reported. The engine's `events.jsonl` is the record; these rows are its index."""

from __future__ import annotations

import hashlib
import json
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from engine.config import CheckpointConfig, RunConfig
from engine.events import AlertRaised, Event, parse_payload
from webapp.environments.models import EnvironmentVersion
from webapp.runs.states import (
    RESTARTING,
    SHOWN_LABELS,
    SUPERVISED,
    TERMINAL,
    Request,
    RunState,
    finished_as,
)

ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
FAULTS_SHOWN = 20
LABELS = ("preset", "description", "seed")  # of a configuration that seeds share
COLOURS = 10  # of series, `--series-1` and so on


def new_run_id() -> str:
    return "".join(secrets.choice(ID_ALPHABET) for _ in range(10))


class Run(models.Model):
    """One run.

        queued ─▶ starting ─▶ running ⇄ paused, stalled, lost ─▶ stopping ─▶ finished | stopped | failed | crashed

    `states.MOVES` is the whole table, and only `services.move` sets the state. `epoch` counts supervisors and
    `attempt` counts starts of the engine; both are fencing tokens, so that an outdated writer changes nothing.
    """

    id = models.CharField(primary_key=True, max_length=10, default=new_run_id, editable=False)
    name = models.CharField(max_length=80)
    project = models.CharField(max_length=80, blank=True, default="")
    notes = models.TextField(blank=True, default="")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    preset = models.CharField(max_length=60, default="custom")
    environment_version = models.ForeignKey(
        EnvironmentVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="runs"
    )
    cloned_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="clones")
    forked_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="forks")
    fork_step = models.PositiveIntegerField(null=True, blank=True)  # of the checkpoint that a fork starts from
    ancestor_steps = models.PositiveIntegerField(default=0)  # trained before this run, by those it descends from
    colour = models.PositiveSmallIntegerField(default=1)  # 1 to COLOURS: of its curves, on every page
    imported_from = models.CharField(max_length=200, blank=True, default="")  # names of the imported files
    config = models.JSONField()

    state = models.CharField(max_length=10, choices=RunState.choices, default=RunState.QUEUED)
    state_reason = models.TextField(blank=True, default="")
    state_remedy = models.TextField(blank=True, default="")
    wait_reason = models.CharField(max_length=200, blank=True, default="")  # what a queued or loading run waits for
    priority = models.IntegerField(default=0)  # of queued runs; the highest is next
    requested = models.CharField(max_length=5, choices=Request.choices, default=Request.RUN)
    checkpoint_requests = models.PositiveIntegerField(default=0)
    stop_requests = models.PositiveIntegerField(default=0)  # each request escalates the stop
    stop_requested_at = models.DateTimeField(null=True, blank=True)

    settings_changes = models.JSONField(default=dict)  # dotted field to value, all changes since launch
    settings_revision = models.PositiveIntegerField(default=0)

    attempt = models.PositiveIntegerField(default=1)
    epoch = models.PositiveIntegerField(default=0)
    lease_holder = models.CharField(max_length=120, blank=True, default="")
    lease_expires = models.DateTimeField(null=True, blank=True)
    process = models.JSONField(default=dict)  # pid, start_time, boot_id, host, cookie: an engine's identity
    stop_proof = models.JSONField(default=dict)  # when the last process with the cookie had ended, and how

    restarts = models.PositiveIntegerField(default=0)  # after failures, at most `restart_budget`
    restart_at = models.DateTimeField(null=True, blank=True)  # when a queued run resumes after a failure
    faults = models.JSONField(default=list)  # oldest first; `workers.restarts` has their fields

    created_at = models.DateTimeField(default=timezone.now)
    queued_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    last_heartbeat_at = models.DateTimeField(null=True, blank=True)  # heartbeat of the engine
    last_progress = models.DateTimeField(null=True, blank=True)  # newest event
    finished_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    event_offset = models.BigIntegerField(default=0)  # bytes of events.jsonl already in rows
    last_seq = models.BigIntegerField(default=0)
    step = models.PositiveIntegerField(default=0)
    total_steps = models.PositiveIntegerField(default=0)
    phase = models.CharField(max_length=20, blank=True, default="")
    tokens = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0.0)  # training time, all attempts
    metrics = models.JSONField(default=dict)  # of the latest step
    verdict = models.JSONField(default=dict, blank=True)  # `engine.verdict.types.Verdict`; empty before the first step

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["state", "lease_expires"]),
            models.Index(fields=["-created_at"]),
            # all that the list of runs needs of runs that it does not show
            models.Index(fields=["archived_at", "-created_at", "id", "state", "forked_from"], name="runs_as_listed"),
            models.Index(fields=["project"]),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        super().save(*args, **kwargs)
        self.list_again()

    def list_again(self) -> None:
        """Writes the run's `ListedRun`, after a change of what that is made of."""
        found = ListedRun.of(self, [tag.name for tag in self.tags.all()])
        ListedRun.objects.bulk_create(
            [found], update_conflicts=True, unique_fields=["run"], update_fields=ListedRun.FROM_RUN
        )

    @property
    def directory(self) -> Path:
        return Path(settings.RUNS_DIR) / self.id

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL

    @property
    def is_supervised(self) -> bool:
        return self.state in SUPERVISED

    @property
    def shown_as(self) -> str:
        """The state as displayed, a key of `SHOWN_LABELS`: a queued run that resumes after a failure is restarting, and
        a finished one may have been ended by an alert, or have lost its success."""
        if self.state == RunState.QUEUED and self.restart_at:
            return RESTARTING
        if self.state != RunState.FINISHED:
            return self.state
        return finished_as(self.verdict.get("label", ""), self.ended_by)

    @property
    def ended_by(self) -> str:
        """The alert rule that ended the run, if one did."""
        return str(self.verdict.get("ended_by", ""))

    @property
    def lineage_step(self) -> int:
        """Steps that the weights have been trained for, with those of ancestors."""
        return self.ancestor_steps + self.step

    @property
    def restart_budget(self) -> int:
        """How often the run may restart by itself."""
        return int(self.config.get("checkpoint", {}).get("restarts", CheckpointConfig().restarts))

    def parsed_config(self) -> RunConfig:
        """For an imported run the defaults with the name of its first environment: its files have no configuration."""
        if self.imported_from:
            tag = self.config["environments"][0]["tag"]
            return RunConfig.model_validate({"preset": self.preset, "environments": [{"tag": tag}]})
        return RunConfig.model_validate(self.config)

    def eta_seconds(self) -> float | None:
        """Remaining time by the mean duration of a step; None before the first step and after the end."""
        if self.is_terminal or not self.step or not self.seconds:
            return None
        return max(0.0, (self.total_steps - self.step) * self.seconds / self.step)

    def health(self) -> dict[str, str] | None:
        """The verdict in short; None before the first step."""
        return {key: self.verdict[key] for key in ("label", "title", "level", "reason")} if self.verdict else None

    def live_state(self) -> dict[str, Any]:
        """The run's row as pages receive it over the socket."""
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "shown_as": self.shown_as,
            "label": SHOWN_LABELS[self.shown_as],
            "ended_by": self.ended_by,
            "health": self.health(),
            "reason": self.state_reason,
            "remedy": self.state_remedy,
            "wait_reason": self.wait_reason,
            "requested": self.requested,
            "step": self.step,
            "total_steps": self.total_steps,
            "ancestor_steps": self.ancestor_steps,
            "phase": self.phase,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "eta_seconds": self.eta_seconds(),
            "attempt": self.attempt,
            "restarts": self.restarts,
            "restart_budget": self.restart_budget,
            "faults": self.faults[-FAULTS_SHOWN:],
            "last_seq": self.last_seq,
            "last_heartbeat_at": self.last_heartbeat_at.timestamp() if self.last_heartbeat_at else None,
            "stop_proof": self.stop_proof,
            "settings": {"revision": self.settings_revision, "changes": self.settings_changes},
            "metrics": self.metrics,
        }


class RunEvent(models.Model):
    """Every event but `step_completed`, `groups_filtered` and `problems_played`, which have tables. `payload` is the
    whole event as JSON: pages get it as it is, and code reads it through `parsed` or `webapp.runs.recorded_events`.

    Of `verdict_updated` only those at the first step of a label are here: the newest verdict is in the run's row.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    seq = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=30)
    step = models.PositiveIntegerField()
    time = models.FloatField()
    payload = models.JSONField()

    class Meta:
        ordering = ["seq"]
        constraints = [models.UniqueConstraint(fields=["run", "seq"], name="one_row_per_event")]
        indexes = [models.Index(fields=["run", "kind", "seq"])]

    def __str__(self) -> str:
        return f"{self.kind} #{self.seq}"

    @classmethod
    def of(cls, run: Run, event: Event) -> RunEvent:
        """The row of `event`, not yet saved."""
        return cls(
            run=run,
            seq=event.seq,
            attempt=event.attempt,
            kind=event.kind,
            step=event.step,
            time=event.time,
            payload=event.model_dump(mode="json"),
        )

    def parsed(self) -> Event:
        return parse_payload(self.payload)


class StepMetrics(models.Model):
    """All metrics of one training step. A step that a later attempt repeats replaces the row."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="steps")
    seq = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=1)
    epoch = models.PositiveIntegerField(default=0)
    step = models.PositiveIntegerField()
    time = models.FloatField()
    tokens = models.BigIntegerField()
    seconds = models.FloatField()
    skipped = models.CharField(max_length=200, blank=True, default="")
    metrics = models.JSONField()

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_row_per_step")]
        indexes = [models.Index(fields=["run", "seq"])]

    def __str__(self) -> str:
        return f"step {self.step}"


class RunTag(models.Model):
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=40)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="one_row_per_tag")]
        indexes = [models.Index(fields=["name"])]

    def __str__(self) -> str:
        return self.name


class ListedRun(models.Model):
    """What the list of runs searches, groups and sorts by and a run has no column for. Rows of runs are kilobytes
    wide, so that reading ten thousand of them for one page would take seconds."""

    FROM_RUN = ("text", "environment", "model", "seed", "config_key")

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.CASCADE, related_name="listed")
    text = models.TextField()  # case-folded: all that a search finds
    environment = models.CharField(max_length=200)
    model = models.CharField(max_length=200)
    seed = models.BigIntegerField(null=True)
    config_key = models.CharField(max_length=16, db_index=True)  # the same for runs that differ only in `LABELS`

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, run: Run, tags: list[str]) -> ListedRun:
        """The row of `run`, not yet saved."""
        environment = str(
            run.environment_version or ", ".join(one["tag"] for one in run.config.get("environments", []))
        )
        model = str(run.config.get("model", {}).get("path", ""))
        words = (run.name, run.project, run.notes, *tags, environment, run.preset, model)
        return cls(
            run_id=run.pk,
            text="\n".join(words).casefold(),
            environment=environment[:200],
            model=model[:200],
            seed=run.config.get("seed"),
            config_key=_config_key(run),
        )


def _config_key(run: Run) -> str:
    """A hash of the configuration with what was changed while the run was live. An imported run has only its own."""
    shared = {name: value for name, value in run.config.items() if name not in LABELS}
    parts = [run.pk] if run.imported_from else [shared, run.settings_changes]
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=8).hexdigest()


class DeletedRun(models.Model):
    """A run that a user deleted, for whoever follows a link to it."""

    id = models.CharField(primary_key=True, max_length=10)
    name = models.CharField(max_length=80)
    who = models.CharField(max_length=150)
    freed = models.BigIntegerField()  # bytes
    time = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class MetricName(models.Model):
    """A metric that the run has reported, so that pages can list metrics, and compare runs by one, without reading
    every step. `webapp.runs.metric_ranges` writes the values."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="metric_names")
    name = models.CharField(max_length=300)
    last = models.FloatField(null=True)  # at the newest step that has it
    lowest = models.FloatField(null=True)
    highest = models.FloatField(null=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="one_row_per_metric")]

    def __str__(self) -> str:
        return self.name


class StepGroups(models.Model):
    """The groups of one step and which of them the filter kept.

    `scores` have a column of their own, since previewing another filter reads those of all steps.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="groups")
    seq = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=1)
    step = models.PositiveIntegerField()
    threshold = models.FloatField()
    scores = models.JSONField()  # by index of the group; None for a group that was no candidate
    kept = models.JSONField()  # indices of groups
    detail = models.JSONField()  # tags, groups, environments, seeds, returns, stds, filter: as in the event

    class Meta:
        ordering = ["step"]
        verbose_name_plural = "groups of steps"
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_row_of_groups_per_step")]

    def __str__(self) -> str:
        return f"groups of step {self.step}"


class Checkpoint(models.Model):
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="checkpoints")
    step = models.PositiveIntegerField()
    path = models.CharField(max_length=200)  # relative to the run's directory
    bytes = models.BigIntegerField()
    reason = models.CharField(max_length=10)
    time = models.FloatField()

    class Meta:
        ordering = ["-step"]
        constraints = [models.UniqueConstraint(fields=["run", "path"], name="one_row_per_checkpoint")]

    def __str__(self) -> str:
        return self.path


ALERT_FIELDS = (
    "seq", "attempt", "step", "time", "rule", "severity", "message", "metric", "value", "baseline", "since",
    "fork_before", "action",
)  # fmt: skip


class Alert(models.Model):
    """An `alert_raised` event whose step still counts."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="alerts")
    seq = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=1)
    step = models.PositiveIntegerField()
    time = models.FloatField()
    rule = models.CharField(max_length=60)
    severity = models.CharField(max_length=10)
    message = models.TextField()
    metric = models.TextField(blank=True, default="")
    value = models.FloatField(default=0.0)
    baseline = models.FloatField(null=True)
    since = models.IntegerField(null=True)  # the first step of the breach
    fork_before = models.IntegerField(null=True)  # the first step of any sign that was open with it
    action = models.CharField(max_length=10, default="notify")

    class Meta:
        ordering = ["-seq"]
        constraints = [models.UniqueConstraint(fields=["run", "seq"], name="one_row_per_alert")]
        indexes = [models.Index(fields=["run", "step"])]

    def __str__(self) -> str:
        return f"{self.severity}: {self.rule}"

    @classmethod
    def of(cls, run: Run, event: AlertRaised) -> Alert:
        """The row of `event`, not yet saved."""
        return cls(run=run, **{name: getattr(event, name) for name in ALERT_FIELDS})
