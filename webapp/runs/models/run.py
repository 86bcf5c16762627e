"""The row of a run: what it is, its state, who supervises it, and how far it is."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from engine.config import CheckpointConfig, RunConfig
from webapp.environments.models import EnvironmentVersion
from webapp.projects.models import Project, default_project_id
from webapp.runs.models.listed import ListedRun
from webapp.runs.states import (
    FOLLOWED,
    NEEDS_ATTENTION,
    PRUNED,
    RESTARTING,
    SHOWN_LABELS,
    SUPERVISED,
    TERMINAL,
    EndCause,
    Request,
    RunState,
    StopRequester,
    finished_as,
)

ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
FAULTS_SHOWN = 20
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
    project = models.ForeignKey(Project, default=default_project_id, on_delete=models.PROTECT, related_name="runs")
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
    priority = models.IntegerField(default=0)  # in the queue, the highest is next; `priorities` has their names
    requested = models.CharField(max_length=5, choices=Request.choices, default=Request.RUN)
    checkpoint_requests = models.PositiveIntegerField(default=0)
    stop_requests = models.PositiveIntegerField(default=0)  # each request escalates the stop
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    stop_requested_by = models.CharField(max_length=10, choices=StopRequester.choices, blank=True, default="")
    end_cause = models.CharField(max_length=20, choices=EndCause.choices, blank=True, default="")
    start_over = models.BooleanField(default=False)  # the attempt begins at step 0 if no checkpoint is good
    pruned = models.TextField(blank=True, default="")  # why its sweep ended it early
    preempted = models.TextField(blank=True, default="")  # why its engine is to save a checkpoint and give up its slot

    settings_changes = models.JSONField(default=dict)  # dotted field to value, all changes since launch
    settings_revision = models.PositiveIntegerField(default=0)

    attempt = models.PositiveIntegerField(default=1)
    epoch = models.PositiveIntegerField(default=0)
    lease_holder = models.CharField(max_length=120, blank=True, default="")
    lease_expires = models.DateTimeField(null=True, blank=True)
    process = models.JSONField(default=dict)  # pid, start_time, boot_id, host, cookie: an engine's identity
    stop_proof = models.JSONField(default=dict)  # when the last process with the cookie had ended, and how

    restarts = models.PositiveIntegerField(default=0)  # after failures, at most `restart_budget`
    restart_pause = models.FloatField(null=True, blank=True)  # seconds before a queued run restarts after a failure
    faults = models.JSONField(default=list)  # oldest first; `workers.restarts` has their fields

    created_at = models.DateTimeField(default=timezone.now)
    queued_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    last_heartbeat_at = models.DateTimeField(null=True, blank=True)  # heartbeat of the engine
    last_progress = models.DateTimeField(null=True, blank=True)  # newest event
    finished_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    event_offset = models.BigIntegerField(default=0)  # bytes of events.jsonl already in rows
    event_tail = models.CharField(max_length=12, blank=True, default="")  # of what was read: `workers.tail.tail_of`
    last_seq = models.BigIntegerField(default=0)
    lines_refused = models.PositiveIntegerField(default=0)  # lines of events.jsonl after that event that are no events
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
            models.Index(fields=["project", "-created_at", "id"], name="runs_newest_of_project"),
            # all that the list of runs needs of runs that it does not show
            models.Index(
                fields=["archived_at", "-created_at", "id", "state", "forked_from", "project"], name="runs_as_listed"
            ),
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
    def is_unheld(self) -> bool:
        """Whether no worker has the lease, for which the engine does not wait: the row is behind it until one does."""
        held = self.lease_expires is not None and self.lease_expires > timezone.now()
        return self.state in FOLLOWED and not held

    @property
    def shown_as(self) -> str:
        """The state as displayed, a key of `SHOWN_LABELS`: a queued run that resumes after a failure is restarting, a
        stopped one may have been ended by its sweep, and a finished one by an alert, or have lost its success."""
        if self.state == RunState.QUEUED and self.restart_pause is not None:
            return RESTARTING
        if self.state == RunState.REPORTING:
            return RunState.RUNNING
        if self.state == RunState.FAILED and self.end_cause == EndCause.NO_GOOD_CHECKPOINT:
            return NEEDS_ATTENTION
        if self.state == RunState.STOPPED and self.pruned:
            return PRUNED
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
            "end_cause": self.end_cause,
            "stop_requested_by": self.stop_requested_by,
            "health": self.health(),
            "reason": self.state_reason,
            "remedy": self.state_remedy,
            "wait_reason": self.wait_reason,
            "requested": self.requested,
            "unheld": self.is_unheld,
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
