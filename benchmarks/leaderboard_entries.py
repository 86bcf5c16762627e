"""Made-up evaluations on one suite, for `run_lists`: 512 problems, three training seeds of each configuration, and a
tenth under other conditions."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from engine.statistics.proportions import wilson

PROBLEMS = 512
SUITE = "bench"
MEASURES = ("return", "turns", "tokens", "well_formed", "pass@1", "pass^1")
OTHER_KEY = 10  # every tenth has one sample more


def fill_board(runs: list[Any]) -> None:
    """An entry for each of `runs`, with its evaluation and the bits of its outcomes."""
    from django.utils import timezone

    from engine.suites.comparability import conditions_of, key_of
    from engine.suites.suite import Suite as Document
    from webapp.leaderboard.models import Entry, ProblemTotals
    from webapp.suites.models import ItemResult, Suite, SuiteEvaluation, SuiteVersion

    stream = random.Random(1)
    item = {
        "name": "Bandit",
        "environment": {"kind": "bandit"},
        "seeds": list(range(PROBLEMS)),
        "problems": [f"{number:016x}" for number in range(PROBLEMS)],
    }
    document = Document.model_validate({"name": SUITE, "items": [item]})
    suite = Suite.objects.create(name=SUITE)
    usual, other = (conditions_of(document.with_samples(samples)) for samples in (None, 2))
    version = SuiteVersion.objects.create(suite=suite, document=document.model_dump(mode="json"), key=key_of(usual))
    now = timezone.now()
    evaluations = [
        SuiteEvaluation(
            version=version, key=key_of(conditions), conditions=conditions, policy="checkpoint", model="/m",
            run=run, run_name=run.name, step=run.step, training_seed=number % 3, configuration=f"{number // 3:064x}",
            weights=f"{number:064x}", state="finished", listed=True, ended_at=now, planned=PROBLEMS,
        )
        for number, run in enumerate(runs)
        for conditions in (other if number % OTHER_KEY == 0 else usual,)
    ]  # fmt: skip
    SuiteEvaluation.objects.bulk_create(evaluations, 500)
    outcomes = np.random.default_rng(1).random((len(runs), PROBLEMS)) < np.linspace(0.2, 0.6, len(runs))[:, None]
    everything = np.packbits(np.ones(PROBLEMS, dtype=bool)).tobytes()
    entries, items = [], []
    for evaluation, run, solved in zip(evaluations, runs, outcomes, strict=True):
        successes = int(solved.sum())
        low, high = wilson(successes, PROBLEMS)
        rate = successes / PROBLEMS
        numbers = {"success": rate, "low": low, "high": high}
        items.append(
            ItemResult(
                evaluation=evaluation, order=0, name="Bandit", problems=PROBLEMS, samples=1, planned=PROBLEMS,
                played=PROBLEMS, scored=PROBLEMS, successes=successes, solved=np.packbits(solved).tobytes(),
                has_score=everything, **numbers,
            )
        )  # fmt: skip
        measures = {
            name: [rate, low, high] for name in ("return", "turns", "tokens", "well_formed", "pass@1", "pass^1")
        }
        entries.append(
            Entry(
                evaluation=evaluation, suite=suite, suite_version=1, key=evaluation.key, name=f"{run.name}, step 100",
                text=f"{run.name}\n{run.preset}".casefold(), policy="checkpoint", preset=run.preset, model="/m",
                run=run, run_name=run.name, step=100, training_seed=evaluation.training_seed,
                configuration=evaluation.configuration, ended_at=now, problems=PROBLEMS, samples=1, planned=PROBLEMS,
                scored=PROBLEMS, mean_return=rate, turns=3 + stream.random(), tokens=100 + 50 * stream.random(),
                well_formed=0.9, seen=0.0, updates=100, environment_turns=50_000, generated_tokens=900_000,
                device_hours=stream.random(), device="CPU", half_known=True, measures=measures, **numbers,
            )
        )  # fmt: skip
    ItemResult.objects.bulk_create(items, 500)
    Entry.objects.bulk_create(entries, 200)
    ProblemTotals.objects.bulk_create(
        (
            ProblemTotals(entry=entry, order=0, sums=_sums(solved))
            for entry, solved in zip(entries, outcomes, strict=True)
        ),
        200,
    )


def _sums(solved: Any) -> bytes:
    """Totals of one episode of each problem: tokens are fewer where it was solved."""
    turns = 5 - 2 * solved
    return np.stack([np.ones(PROBLEMS), solved, turns, 30 * turns, np.zeros(PROBLEMS)]).astype("<f8").tobytes()
