"""Suites and evaluations as rows, with outcomes as a test writes them: `{"Bandit": ["10", "1-"]}` has a text for each
problem, with 1 for a solved sample, 0 for another, and - for one without a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from engine.suites.comparability import conditions_of, key_of
from engine.suites.outcomes import OUTCOMES, Outcome, write_outcomes
from engine.suites.suite import Suite as SuiteDocument
from webapp.jobs import JobState
from webapp.projects.models import default_project
from webapp.suites.models import PolicyKind, Suite, SuiteEvaluation, SuiteVersion
from webapp.suites.results import save_outcomes


def document(
    name: str = "bandits", *, item: str = "Bandit", problems: int = 4, samples: int = 1, **fields: Any
) -> SuiteDocument:
    """A suite with one item; `fields` are further ones of that."""
    content = {
        "name": item,
        "environment": {"kind": "bandit"},
        "seeds": list(range(problems)),
        "problems": [f"{number:016x}" for number in range(problems)],
        "samples": samples,
        **fields,
    }
    return SuiteDocument.model_validate({"name": name, "items": [content]})


def suite_version(suite: SuiteDocument | None = None) -> SuiteVersion:
    suite = suite or document()
    row, _ = Suite.objects.get_or_create(name=suite.name, defaults={"project": default_project()})
    version, _ = SuiteVersion.objects.get_or_create(
        suite=row,
        number=suite.version,
        defaults={"document": suite.model_dump(mode="json"), "key": key_of(conditions_of(suite))},
    )
    return version


def suite_evaluation(
    solved: Mapping[str, Sequence[str]],
    *,
    version: SuiteVersion | None = None,
    write_file: bool = False,
    **fields: Any,
) -> SuiteEvaluation:
    """A finished evaluation; with `write_file` its outcomes are on disk too."""
    version = version or suite_version()
    conditions = conditions_of(version.parsed())
    known = {
        "policy": PolicyKind.DIRECTORY,
        "model": "/models/tiny",
        "weights": f"{SuiteEvaluation.objects.count():064x}",
        "state": JobState.FINISHED,
        "started_at": timezone.now(),
        "ended_at": timezone.now(),
    }
    evaluation = SuiteEvaluation.objects.create(
        version=version, key=key_of(conditions), conditions=conditions, **{**known, **fields}
    )
    outcomes = outcomes_of(version.parsed(), solved)
    save_outcomes(evaluation, outcomes)
    if write_file:
        write_outcomes(evaluation.folder / OUTCOMES, outcomes)
    return evaluation


def outcomes_of(suite: SuiteDocument, solved: Mapping[str, Sequence[str]]) -> list[Outcome]:
    return [
        _outcome(item.name, seed, problem, sample, mark)
        for item in suite.items
        for seed, problem, marks in zip(item.seeds, item.problems, solved[item.name], strict=True)
        for sample, mark in enumerate(marks)
    ]


def _outcome(item: str, seed: int, problem: str, sample: int, mark: str) -> Outcome:
    scored = mark != "-"
    return Outcome(
        item=item,
        problem=problem,
        seed=seed,
        sample=sample,
        success=mark == "1" if scored else None,
        episode_return=float(mark) if scored else None,
        turns=1,
        actions=1,
        tokens=10,
        prompt_tokens=100,
        malformed=0,
        stop="success" if mark == "1" else "terminated" if scored else "fault",
        seconds=0.5,
        error="" if scored else "The environment failed.",
        trained_on=None,
        file="",
        offset=0,
        length=0,
    )
