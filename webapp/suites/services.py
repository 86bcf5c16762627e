"""Submitting evaluations on suites, and what users do to them. A worker plays them, one at a time."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from engine.suites.comparability import conditions_of, key_of
from engine.suites.suite import MOST_SAMPLES
from webapp.audit.services import Actor, record_of
from webapp.audit.services import record as audit
from webapp.jobs import LIVE, JobState, Refused
from webapp.members.choices import project_for_new
from webapp.projects.access import require_of
from webapp.projects.models import Project, Role, default_project
from webapp.runs.models import Run
from webapp.suites.models import PolicyKind, SuiteEvaluation, SuiteVersion
from webapp.suites.policies import Fields, policy_fields
from webapp.whole_numbers import whole_number


class AlreadyEvaluated(Refused):
    """There is an evaluation of the same inputs."""

    def __init__(self, earlier: SuiteEvaluation) -> None:
        what = "is being evaluated" if earlier.is_live else "has been evaluated"
        remedy = (
            "Wait for it, or stop it first." if earlier.is_live else "Ask for it again only if you want a second one."
        )
        super().__init__(
            f"This model {what} on exactly these problems with these settings: evaluation {earlier.pk}. {remedy}"
        )
        self.earlier = earlier


def submit(version: SuiteVersion, data: Mapping[str, str], owner: Actor) -> SuiteEvaluation:
    """A queued evaluation from the fields of the form; `Refused` with a reason otherwise. One of a checkpoint belongs
    to the project of its run, one of another model to that of the form, the suite or the user."""
    user = owner if isinstance(owner, User) else None
    fields = policy_fields(data, user)
    run: Run | None = fields.get("run")
    if run is not None:
        require_of(owner, run, Role.EDITOR)
    project = run.project if run else project_for_new(owner, data.get("project", ""), like=version.suite.project)
    return create(version, fields, owner=owner, project=project, samples=_samples(data), again=data.get("again") == "1")


def create(
    version: SuiteVersion,
    fields: Fields,
    *,
    owner: Actor,
    project: Project | None = None,
    samples: int | None = None,
    again: bool = False,
) -> SuiteEvaluation:
    """Freezes the version."""
    project = project or default_project()
    suite = version.parsed().with_samples(samples)
    conditions = conditions_of(suite)
    key = key_of(conditions)
    earlier = same_inputs(key, fields["weights"], project)
    if earlier is not None and (earlier.is_live or not again):
        raise AlreadyEvaluated(earlier)
    try:
        with transaction.atomic():
            version.freeze()
            made = SuiteEvaluation.objects.create(
                version=version,
                samples=samples,
                key=key,
                conditions=conditions,
                owner=owner if isinstance(owner, User) else None,
                project=project,
                again=again,
                planned=suite.episodes,
                **fields,
            )
            record_of(made, owner, "submit")
            if made.run is not None:
                audit(made.run, owner, "evaluate", step=made.step, suite=str(version))
            if not made.reserve_checkpoint():
                raise Refused(f"The checkpoint of step {made.step} no longer exists. Choose one that is listed.")
            transaction.on_commit(made.enqueue)
    except IntegrityError:
        raise Refused("This model is being evaluated on exactly these problems already.") from None
    made.publish()
    return made


def same_inputs(key: str, weights: str, project: Project, *, but: int | None = None) -> SuiteEvaluation | None:
    """The newest evaluation of the project with the same conditions and weights that is live or finished."""
    in_project = SuiteEvaluation.objects.filter(project=project, key=key, weights=weights)
    found = in_project.filter(state__in=[*LIVE, JobState.FINISHED])
    others = found.exclude(pk=but) if but is not None else found
    return others.exclude(weights="").order_by("-pk").first()


def resume(evaluation: SuiteEvaluation, user: Actor = None) -> None:
    """Queues it again; what has been played stays. `Refused` if it goes on already, or is over."""
    if not evaluation.is_resumable:
        raise Refused("Only an evaluation that was stopped or failed can be resumed.")
    other = same_inputs(evaluation.key, evaluation.weights, evaluation.project, but=evaluation.pk)
    if other is not None and (other.is_live or not evaluation.again):
        raise AlreadyEvaluated(other)
    rows = SuiteEvaluation.objects.filter(pk=evaluation.pk, state=evaluation.state)
    try:
        with transaction.atomic():
            rows.update(state=JobState.QUEUED, stop_requested=False, message="", ended_at=None, losses=0)
            record_of(evaluation, user, "go_on")
            evaluation.reserve_checkpoint()  # if it is gone, the worker says so
            transaction.on_commit(evaluation.enqueue)
    except IntegrityError:
        raise Refused("This model is being evaluated on exactly these problems already.") from None
    evaluation.refresh_from_db()
    evaluation.publish()


@transaction.atomic
def stop(evaluation: SuiteEvaluation, user: Actor = None) -> bool:
    """False if it is over."""
    return record_of(evaluation, user, "halt", evaluation.stop())


def _samples(data: Mapping[str, str]) -> int | None:
    """Empty for the suite's own."""
    text = data.get("samples", "").strip()
    if not text:
        return None
    number = whole_number(text)
    if number is None or not 1 <= number <= MOST_SAMPLES:
        raise Refused(f"Samples per problem: give a whole number from 1 to {MOST_SAMPLES}, or leave it blank.")
    return number


def again(evaluation: SuiteEvaluation, owner: Actor) -> SuiteEvaluation:
    """A second evaluation of the same inputs; `Refused` while one is live, or if the model is gone."""
    if evaluation.imported:
        raise Refused("It was played elsewhere, so this installation may not have its model.")
    if evaluation.policy == PolicyKind.CHECKPOINT and evaluation.run is None:
        raise Refused("The run of this checkpoint was deleted.")
    names = (
        "policy", "model", "endpoint", "key_variable", "run", "run_name", "step", "training_seed", "configuration",
        "weights",
    )  # fmt: skip
    fields = {name: getattr(evaluation, name) for name in names}
    return create(
        evaluation.version, fields, owner=owner, project=evaluation.project, samples=evaluation.samples, again=True
    )
