"""The numbers of an evaluation as rows, from its outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction

from engine.suites.outcomes import Outcome
from engine.suites.summary import bits_of, summarise
from webapp.suites.models import ItemResult, SuiteEvaluation


def save_outcomes(evaluation: SuiteEvaluation, outcomes: Iterable[Outcome]) -> None:
    """Replaces the numbers of the evaluation and of its items by those of `outcomes`, which are all that it has."""
    save_results(evaluation, results_of(evaluation, outcomes))


def results_of(evaluation: SuiteEvaluation, outcomes: Iterable[Outcome]) -> list[ItemResult]:
    """Sets the numbers of the evaluation, and returns those of its items. Saves nothing."""
    suite, rows = evaluation.suite(), list(outcomes)
    summary, bits = summarise(rows, suite), bits_of(rows, suite)
    results = []
    for order, item in enumerate(summary.items):
        fields = {name: value for name, value in asdict(item).items() if name != "item"}
        solved, has_score = bits[item.item].solved, bits[item.item].scored
        results.append(
            ItemResult(evaluation=evaluation, order=order, name=item.item, solved=solved, has_score=has_score, **fields)
        )
    evaluation.planned, evaluation.played = summary.planned, summary.played
    evaluation.scored, evaluation.successes = summary.scored, summary.successes
    evaluation.success, evaluation.low, evaluation.high = summary.success, summary.low, summary.high
    evaluation.turns = sum(item.turns for item in summary.items)
    known = [item.tokens for item in summary.items if item.tokens is not None]
    evaluation.tokens = sum(known) if len(known) == len(summary.items) else None
    return results


def save_results(evaluation: SuiteEvaluation, results: Sequence[ItemResult]) -> None:
    with transaction.atomic():
        evaluation.items.all().delete()
        ItemResult.objects.bulk_create(results)
        evaluation.save(
            update_fields=["planned", "played", "scored", "successes", "success", "low", "high", "turns", "tokens"]
        )
    evaluation.publish()


def save_progress(evaluation: SuiteEvaluation, report: Mapping[str, Any], *, seconds: float) -> None:
    """The numbers of a report of the engine, without the outcomes of single episodes."""
    whole = ("planned", "played", "scored", "successes", "success", "low", "high")
    rows = [
        ItemResult(
            evaluation=evaluation,
            order=order,
            name=item["item"],
            **{name: value for name, value in item.items() if name != "item"},
        )
        for order, item in enumerate(report["items"])
    ]
    with transaction.atomic():
        evaluation.items.all().delete()
        ItemResult.objects.bulk_create(rows)
        SuiteEvaluation.objects.filter(pk=evaluation.pk).update(
            **{name: report[name] for name in whole}, seconds=seconds
        )
    evaluation.publish()
