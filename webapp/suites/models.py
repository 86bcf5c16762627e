"""Suites with their versions, and evaluations of models on them. The episodes themselves are files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from engine.suites.suite import Suite as SuiteDocument
from webapp.jobs import LIVE, Job, JobState, Lane, Refused
from webapp.projects.models import Project, default_project_id
from webapp.runs.models import Run
from webapp.updates import publish_evaluation
from workers.app import EVALUATE_SUITE


class Suite(models.Model):
    """A named suite; what it evaluates is in its versions."""

    name = models.SlugField(max_length=60, unique=True)
    built_in = models.BooleanField(default=False)  # it ships with the engine, and nobody edits it
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    # None for those that ship, which everybody reads
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.PROTECT, related_name="suites")
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def latest(self) -> SuiteVersion:
        return self.versions.latest("number")


class SuiteVersion(models.Model):
    """An `engine.suites.suite.Suite`, numbered from 1. It changes only until its first evaluation, which freezes it."""

    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField(default=1)
    document = models.JSONField()
    definition = models.TextField(blank=True, default="")  # TOML that it was made from; empty for an imported one
    key = models.CharField(max_length=64, db_index=True)  # comparability key, with the version's own samples
    frozen_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["suite__name", "-number"]
        constraints = [models.UniqueConstraint(fields=["suite", "number"], name="one_row_per_suite_version")]

    def __str__(self) -> str:
        return f"{self.suite.name} v{self.number}"

    def parsed(self) -> SuiteDocument:
        return SuiteDocument.model_validate(self.document)

    def freeze(self) -> None:
        """In the transaction that adds an evaluation; an edit waits for its end. `Refused` if an edit came first."""
        rows = SuiteVersion.objects.filter(pk=self.pk)
        if not rows.select_for_update().exists():
            raise Refused(f"{self.suite.name} was edited meanwhile. Read the new definition, then evaluate that.")
        rows.filter(frozen_at=None).update(frozen_at=timezone.now())


class PolicyKind(models.TextChoices):
    CHECKPOINT = "checkpoint", "Checkpoint of a run"
    DIRECTORY = "directory", "Model directory"
    ENDPOINT = "endpoint", "Endpoint"


class SuiteEvaluation(Job):
    """One model on one version of a suite. It is played by a worker, or was played elsewhere and imported.

    Stopped and failed ones keep their finished episodes, and continue from them when they are queued again.
    """

    NOUN = "Suite evaluation"
    TASK = EVALUATE_SUITE

    project = models.ForeignKey(
        Project, default=default_project_id, on_delete=models.PROTECT, related_name="suite_evaluations"
    )
    version = models.ForeignKey(SuiteVersion, on_delete=models.PROTECT, related_name="evaluations")
    samples = models.PositiveIntegerField(null=True, blank=True)  # per problem; None: the version's own
    key = models.CharField(max_length=64)  # comparability key: only equal ones are ranked together
    conditions = models.JSONField()  # what `key` is the hash of, to say in what two differ

    policy = models.CharField(max_length=10, choices=PolicyKind.choices)
    model = models.CharField(max_length=500)  # as the engine gets it: a path or an endpoint's name for it
    endpoint = models.CharField(max_length=500, blank=True, default="")
    key_variable = models.CharField(max_length=100, blank=True, default="")  # of the environment, with the API key
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="suite_evaluations")
    run_name = models.CharField(max_length=80, blank=True, default="")  # outlives the run
    step = models.PositiveIntegerField(null=True, blank=True)  # of the checkpoint
    training_seed = models.PositiveIntegerField(null=True, blank=True)  # of the run
    configuration = models.CharField(max_length=64, blank=True, default="")  # hash of the run's but for its seed
    weights = models.CharField(max_length=64, blank=True, default="")  # hash; of an endpoint, of address and name
    again = models.BooleanField(default=False)  # asked for although there is one of the same inputs
    imported = models.BooleanField(default=False)  # played elsewhere
    listed = models.BooleanField(default=False)  # it has a row on the leaderboard
    losses = models.PositiveSmallIntegerField(default=0)  # workers that went away since an episode was last added
    versions = models.JSONField(default=dict)  # of the libraries, and the device: disclosed, not in the key

    planned = models.PositiveIntegerField(default=0)  # episodes
    played = models.PositiveIntegerField(default=0)
    scored = models.PositiveIntegerField(default=0)
    successes = models.PositiveIntegerField(default=0)
    success = models.FloatField(null=True)  # mean over items, with the ends of its 95% interval
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    tokens = models.BigIntegerField(null=True)  # that were sampled
    turns = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0.0)  # of play, all sessions together

    class Meta(Job.Meta):
        indexes = [
            models.Index(fields=["state", "created_at"], name="suite_evaluations_by_state"),
            models.Index(fields=["key", "weights"], name="suite_evaluations_by_inputs"),
            models.Index(fields=["version", "state", "success"], name="suite_evaluations_ranked"),
            models.Index(fields=["state", "id"], condition=models.Q(listed=False), name="suite_evaluations_to_list"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "key", "weights"],
                condition=models.Q(state__in=LIVE) & ~models.Q(weights=""),
                name="one_live_suite_evaluation",
            )
        ]

    def __str__(self) -> str:
        return f"evaluation {self.pk} of {self.policy_name} on {self.version}"

    def needed_checkpoint(self) -> tuple[Path, int] | None:
        if self.policy != PolicyKind.CHECKPOINT or self.run is None or self.step is None:
            return None
        return self.run.directory / "checkpoints", self.step

    @classmethod
    def lanes(cls) -> list[Lane]:
        """Endpoints have one of their own: a slow one keeps no local model waiting."""
        of_endpoints = models.Q(policy=PolicyKind.ENDPOINT)
        return [
            Lane(~of_endpoints, settings.STARBOARD_MAX_PARALLEL_EVALUATIONS),
            Lane(of_endpoints, settings.STARBOARD_MAX_PARALLEL_ENDPOINTS),
        ]

    @property
    def policy_name(self) -> str:
        """The model in short, as lists show it."""
        if self.policy == PolicyKind.CHECKPOINT:
            return f"{self.run_name}, step {self.step}"
        if self.policy == PolicyKind.ENDPOINT:
            return self.model
        return Path(self.model).name

    @property
    def folder(self) -> Path:
        """Its outcomes (`engine.suites.outcomes.read_outcomes`), trajectories and log."""
        return Path(settings.STARBOARD_DATA_DIR) / "evaluations" / str(self.pk)

    @property
    def is_resumable(self) -> bool:
        return self.state in (JobState.STOPPED, JobState.FAILED) and not self.imported

    def suite(self) -> SuiteDocument:
        """What it plays: the version with the evaluation's own number of samples."""
        return self.version.parsed().with_samples(self.samples)

    def publish(self) -> None:
        transaction.on_commit(lambda: publish_evaluation(self.pk))


class ItemResult(models.Model):
    """One item of an evaluation in numbers, as `engine.suites.summary.ItemSummary` computed them from the outcomes.

    `solved` and `has_score` have a bit for each episode: that of problem p and sample s is at p * samples + s, in the
    order of the suite's document. Evaluations with one key have one order.
    """

    evaluation = models.ForeignKey(SuiteEvaluation, on_delete=models.CASCADE, related_name="items")
    order = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=60)
    problems = models.PositiveIntegerField()
    samples = models.PositiveIntegerField()
    planned = models.PositiveIntegerField()
    played = models.PositiveIntegerField(default=0)
    scored = models.PositiveIntegerField(default=0)
    successes = models.PositiveIntegerField(default=0)
    success = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    interval = models.CharField(max_length=100, blank=True, default="")
    mean_return = models.FloatField(null=True)
    return_low = models.FloatField(null=True)
    return_high = models.FloatField(null=True)
    mean_turns = models.FloatField(null=True)
    turns = models.BigIntegerField(default=0)
    actions = models.BigIntegerField(default=0)
    tokens = models.BigIntegerField(null=True)
    prompt_tokens = models.BigIntegerField(null=True)
    responses = models.BigIntegerField(default=0)
    malformed = models.BigIntegerField(default=0)
    trained_on = models.PositiveIntegerField(null=True)
    seconds = models.FloatField(default=0.0)
    pass_at = models.JSONField(default=dict)
    pass_all = models.JSONField(default=dict)
    stops = models.JSONField(default=dict)
    solved = models.BinaryField(default=bytes)
    has_score = models.BinaryField(default=bytes)

    class Meta:
        ordering = ["evaluation", "order"]
        constraints = [models.UniqueConstraint(fields=["evaluation", "name"], name="one_row_per_suite_item")]

    def __str__(self) -> str:
        return f"{self.name} of evaluation {self.evaluation_id}"

    @property
    def well_formed(self) -> float | None:
        """Share of responses in the requested format."""
        return 1 - self.malformed / self.responses if self.responses else None

    def numbers(self) -> dict[str, Any]:
        """Its fields but for the bits, for JSON."""
        names = [field.attname for field in self._meta.concrete_fields]
        left_out = {"id", "evaluation_id", "solved", "has_score"}
        return {name: getattr(self, name) for name in names if name not in left_out}
