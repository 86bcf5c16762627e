"""The leaderboard's rows, each a finished evaluation on a suite, and links that show a leaderboard to anyone."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from webapp.runs.models import Run
from webapp.suites.models import PolicyKind, Suite, SuiteEvaluation


class Entry(models.Model):
    """One finished evaluation. It has all that lists show, filter and sort by, so that they read no outcomes.

    `measures` has value, low and high by the names of `webapp.leaderboard.entries`; those that lists sort by have a
    column too. What training cost is up to the evaluated checkpoint, with the steps of ancestors; null is unknown.
    """

    project_path = "evaluation__project"

    evaluation = models.OneToOneField(SuiteEvaluation, primary_key=True, on_delete=models.CASCADE, related_name="entry")
    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="entries")
    suite_version = models.PositiveIntegerField()
    key = models.CharField(max_length=64)  # comparability key: only equal ones are ranked together
    name = models.CharField(max_length=200)
    text = models.TextField()  # case-folded: all that a filter finds
    policy = models.CharField(max_length=10, choices=PolicyKind.choices)
    preset = models.CharField(max_length=60, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="leaderboard_entries")
    run_name = models.CharField(max_length=80, blank=True, default="")
    step = models.PositiveIntegerField(null=True)
    training_seed = models.PositiveIntegerField(null=True)
    configuration = models.CharField(max_length=64, blank=True, default="")  # the same for its training seeds
    ended_at = models.DateTimeField(null=True)

    problems = models.PositiveIntegerField()
    samples = models.PositiveIntegerField()  # per problem, the fewest of any item
    planned = models.PositiveIntegerField()  # episodes
    scored = models.PositiveIntegerField()
    success = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    mean_return = models.FloatField(null=True)
    turns = models.FloatField(null=True)  # per episode
    tokens = models.FloatField(null=True)  # sampled per episode
    well_formed = models.FloatField(null=True)  # share of responses
    pass_at = models.FloatField(null=True)  # pass@k with the largest k
    pass_all = models.FloatField(null=True)  # pass^k, likewise
    measures = models.JSONField(default=dict)
    seen = models.FloatField(null=True)  # share of scored episodes whose problem training had

    updates = models.PositiveIntegerField(null=True)
    environment_turns = models.BigIntegerField(null=True)
    generated_tokens = models.BigIntegerField(null=True)
    device_hours = models.FloatField(null=True)
    device = models.CharField(max_length=10, blank=True, default="")  # GPU or CPU
    half_updates = models.PositiveIntegerField(null=True)  # to 50% success on the run's own held-out problems
    half_hours = models.FloatField(null=True)  # device hours, likewise
    half_known = models.BooleanField(default=False)  # without half_updates: it was never reached

    class Meta:
        verbose_name_plural = "entries"
        ordering = ["-success", "evaluation"]
        indexes = [
            # What lists count, order and rank by success; all columns, so that they read no row.
            models.Index(fields=["suite", "key", "-success", "evaluation", "suite_version"]),
            models.Index(fields=["run", "key"]),
            models.Index(
                fields=[
                    "suite",
                    "key",
                    "evaluation",
                    "device",
                    "device_hours",
                    "updates",
                    "environment_turns",
                    "generated_tokens",
                ],
                name="leaderboard_entry_costs",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.success:.3f}"


class ProblemTotals(models.Model):
    """Of one item of an entry: sums over the scored episodes of each problem, as `problem_totals.Totals` names them.
    `sums` is float64, little-endian, a row for each of those and a column for each problem, in the suite's order."""

    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="problem_totals")
    order = models.PositiveSmallIntegerField()
    sums = models.BinaryField()

    class Meta:
        verbose_name_plural = "problem totals"
        ordering = ["entry", "order"]
        constraints = [models.UniqueConstraint(fields=["entry", "order"], name="one_row_per_item_of_entry")]

    def __str__(self) -> str:
        return f"item {self.order} of entry {self.entry_id}"


class PublicLink(models.Model):
    """A secret address at which anyone sees one leaderboard, read-only, until it is revoked. The secret itself is not
    stored; `shown_as` is its beginning, by which its owner recognises it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="leaderboard_links")
    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="public_links")
    query = models.TextField(blank=True, default="")  # what the page shows: filter, order, baseline
    digest = models.CharField(max_length=64, unique=True)
    shown_as = models.CharField(max_length=12)
    created_at = models.DateTimeField(default=timezone.now)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"link {self.shown_as}… to {self.suite}"
