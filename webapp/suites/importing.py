"""Evaluations that were played elsewhere, on a suite of this site: their episodes arrive in batches.

Numbers are never taken as they come: they are computed here from the episodes. A batch may be sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.config import problems_by_field
from engine.suites.comparability import conditions_of, differences, key_of
from engine.suites.outcomes import Outcome, read_outcomes
from engine.suites.store import Store
from engine.suites.suite import MOST_SAMPLES, Identity
from engine.suites.suite import Suite as SuiteDocument
from webapp.audit.services import record_of
from webapp.jobs import JobState, Refused
from webapp.members.choices import project_for_new
from webapp.projects.access import readable, require_of
from webapp.projects.models import Role
from webapp.runs.models import Run
from webapp.suites.models import Suite, SuiteEvaluation
from webapp.suites.results import results_of, save_results
from webapp.suites.services import AlreadyEvaluated, same_inputs

ARRIVING = "Its episodes have not all arrived yet."


class Played(BaseModel):
    """One episode as it arrives: its outcome and its trajectory."""

    model_config = ConfigDict(extra="forbid")

    item: str = Field(max_length=60)
    problem: Identity
    seed: int = Field(ge=0, lt=2**32)
    sample: int = Field(ge=0, lt=MOST_SAMPLES)
    success: bool | None
    episode_return: float | None = Field(allow_inf_nan=False)
    turns: int = Field(ge=0, lt=1_000_000)
    actions: int = Field(ge=0, lt=10_000_000)
    tokens: int | None = Field(ge=0, lt=2**53)
    prompt_tokens: int | None = Field(ge=0, lt=2**53)
    malformed: int = Field(ge=0, lt=1_000_000)
    stop: str = Field(max_length=40)
    seconds: float = Field(ge=0, allow_inf_nan=False)
    error: str = Field(max_length=5000)
    trained_on: bool | None
    trajectory: dict[str, Any]

    def outcome(self) -> Outcome:
        fields = self.model_dump(exclude={"trajectory"})
        return Outcome(**fields, file="", offset=0, length=0)


def begin(
    owner: User,
    *,
    suite: str,
    version: int,
    key: str,
    samples: int | None,
    policy: Mapping[str, Any],
    weights: str,
    versions: dict[str, Any],
    conditions: list[dict[str, Any]],
    again: bool = False,
) -> SuiteEvaluation:
    """The evaluation that episodes can be sent for: a new one, or the owner's that is still incomplete."""
    of_suite = readable(Suite.objects.filter(name=suite)).first()
    found = of_suite.versions.filter(number=version).first() if of_suite is not None else None
    if found is None:
        raise Refused(f"This site has no version {version} of the suite {suite[:60]!r}. Define it here first.")
    document = found.parsed().with_samples(samples)
    ours = conditions_of(document)
    if key_of(ours) != key:
        differing = "; ".join(differences(conditions, ours)[:5]) if _are_conditions(conditions) else ""
        raise Refused(f"It was not played as {found} of this site says. {differing}".strip())
    begun = SuiteEvaluation.objects.filter(owner=owner, key=key, imported=True, state=JobState.STOPPED)
    if (unfinished := begun.filter(weights=weights, model=policy["model"]).first()) is not None:
        return unfinished
    run = readable(Run.objects.filter(pk=policy.get("run") or "")).first()
    if run is not None:
        require_of(owner, run, Role.EDITOR)
    project = run.project if run is not None else project_for_new(owner, like=found.suite.project)
    earlier = same_inputs(key, weights, project)
    if earlier is not None and not again:
        raise AlreadyEvaluated(earlier)
    with transaction.atomic():
        found.freeze()
        made = SuiteEvaluation.objects.create(
            version=found,
            samples=samples,
            key=key,
            conditions=ours,
            owner=owner,
            project=project,
            policy=policy["kind"],
            model=policy["model"],
            endpoint=policy.get("endpoint") or "",
            run=run,
            run_name=run.name if run is not None else (policy.get("run") or "")[:80],
            step=policy.get("step"),
            training_seed=policy.get("training_seed"),
            configuration=policy.get("configuration") or "",
            weights=weights,
            versions=versions,
            again=again,
            imported=True,
            state=JobState.STOPPED,
            message=ARRIVING,
            planned=document.episodes,
        )
        record_of(made, owner, "submit")
        return made


def add(evaluation: SuiteEvaluation, lines: Iterable[bytes]) -> tuple[int, list[tuple[int, str]]]:
    """Stores the episodes of the lines; how many were new, and by line what was wrong with the others."""
    suite = evaluation.suite()
    rejected: list[tuple[int, str]] = []
    accepted = 0
    store = Store(evaluation.folder, suite)
    try:
        for number, line in enumerate(lines, 1):
            try:
                played = Played.model_validate_json(line)
                _check(played, suite)
            except ValidationError as error:
                field, reason = problems_by_field(error, Played)[0]
                rejected.append((number, f"{field}: {reason}"))
                continue
            except Refused as refusal:
                rejected.append((number, str(refusal)))
                continue
            if not store.is_finished(played.item, played.problem, played.sample):
                store.add(played.outcome(), played.trajectory)
                accepted += 1
        store.flush()
    finally:
        store.close()
    SuiteEvaluation.objects.filter(pk=evaluation.pk).update(played=len(store.outcomes))
    evaluation.publish()
    return accepted, rejected


def finish(evaluation: SuiteEvaluation, user: User) -> SuiteEvaluation:
    """Once all episodes are here."""
    store = Store(evaluation.folder, evaluation.suite())
    try:
        missing = evaluation.suite().episodes - len(store.outcomes)
        if missing:
            raise Refused(f"{missing} of {evaluation.planned} episodes have not arrived. Send them first.")
        store.end()
    finally:
        store.close()
    results = results_of(evaluation, read_outcomes(evaluation.folder))
    with transaction.atomic():
        save_results(evaluation, results)
        rows = SuiteEvaluation.objects.filter(pk=evaluation.pk, state=JobState.STOPPED)
        if rows.update(state=JobState.FINISHED, message="", ended_at=timezone.now()):
            record_of(evaluation, user, "complete")
    evaluation.refresh_from_db()
    evaluation.publish()
    return evaluation


def _check(played: Played, suite: SuiteDocument) -> None:
    item = next((one for one in suite.items if one.name == played.item), None)
    if item is None:
        raise Refused(f"item: the suite has no {played.item[:40]!r}.")
    if played.problem not in item.problems:
        raise Refused(f"problem: {item.name} has no problem {played.problem}.")
    if played.sample >= item.samples:
        raise Refused(f"sample: {item.name} has {item.samples} samples of each problem, counted from 0.")
    if (played.success is None) != (played.episode_return is None):
        raise Refused("episode_return: give one exactly if there is a success.")
    if not isinstance(played.trajectory.get("turns"), list):
        raise Refused("trajectory: it has no turns.")


def _are_conditions(given: list[dict[str, Any]]) -> bool:
    return all(isinstance(one, dict) and "item" in one for one in given)
