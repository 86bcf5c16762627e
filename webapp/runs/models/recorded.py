"""What a run's engine reported, as rows. Its `events.jsonl` is the record; these are its index."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from engine.events import AlertRaised, Event, parse_payload
from webapp.runs.models.bulk_json import BulkJSONField
from webapp.runs.models.run import Run


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
    payload = BulkJSONField()

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
    """All metrics of one training step. Where a later attempt repeats the step, the row becomes a `SupersededStep`."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="steps")
    seq = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=1)
    epoch = models.PositiveIntegerField(default=0)
    step = models.PositiveIntegerField()
    time = models.FloatField()
    tokens = models.BigIntegerField()
    seconds = models.FloatField()
    skipped = models.CharField(max_length=200, blank=True, default="")
    metrics = BulkJSONField()

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_row_per_step")]
        indexes = [models.Index(fields=["run", "seq"])]

    def __str__(self) -> str:
        return f"step {self.step}"


class SupersededStep(models.Model):
    """The metrics of a step that a later attempt repeated, since it resumed from an earlier one. In no chart."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="superseded_steps")
    seq = models.BigIntegerField()
    attempt = models.PositiveIntegerField()
    superseded_by = models.PositiveIntegerField()  # the attempt that resumed from an earlier step
    step = models.PositiveIntegerField()
    time = models.FloatField()
    tokens = models.BigIntegerField()
    seconds = models.FloatField()
    metrics = BulkJSONField()

    class Meta:
        ordering = ["attempt", "step"]
        constraints = [models.UniqueConstraint(fields=["run", "seq"], name="one_row_per_superseded_step")]

    def __str__(self) -> str:
        return f"step {self.step} of attempt {self.attempt}"

    @classmethod
    def of(cls, row: StepMetrics, *, by: int) -> SupersededStep:
        """The row of `row`, not yet saved."""
        same = ("run_id", "seq", "attempt", "step", "time", "tokens", "seconds", "metrics")
        return cls(superseded_by=by, **{name: getattr(row, name) for name in same})


class MetricName(models.Model):
    """A metric that the run has reported, so that pages can list metrics, and compare runs by one, without reading
    every step. `webapp.runs.metric_ranges` writes the values."""

    project_path = "run__project"

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
    scores = BulkJSONField()  # by index of the group; None for a group that was no candidate
    kept = BulkJSONField()  # indices of groups
    detail = BulkJSONField()  # tags, groups, environments, seeds, returns, stds, filter: as in the event

    class Meta:
        ordering = ["step"]
        verbose_name_plural = "groups of steps"
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_row_of_groups_per_step")]

    def __str__(self) -> str:
        return f"groups of step {self.step}"


class Checkpoint(models.Model):
    project_path = "run__project"

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

    project_path = "run__project"

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


class RecordProblem(models.Model):
    """Something in a run's `events.jsonl` that is in no other row. The file itself is never changed because of it."""

    class Kind(models.TextChoices):
        LINE = "line", "Unreadable line"
        NEWER = "newer", "Event of a newer version"
        GAP = "gap", "Missing events"
        REPLACED = "replaced", "File cut or replaced"
        GONE = "gone", "File deleted"
        CONFLICT = "conflict", "Other events under known numbers"
        BEHIND = "behind", "Events not in the file"
        LATE = "late", "Events of an earlier attempt"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="record_problems")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    offset = models.BigIntegerField()  # bytes from the beginning of the file
    reason = models.TextField()
    line = models.TextField(blank=True, default="")  # its beginning; of an event of a newer version 64 KiB
    time = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["run", "kind", "offset"], name="one_row_per_record_problem")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} at byte {self.offset}"
