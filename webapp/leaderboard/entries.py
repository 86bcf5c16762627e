"""Makes the leaderboard's rows: every finished evaluation on a suite has one."""

from __future__ import annotations

import zlib

import numpy as np
from django.db import transaction

from engine.statistics.measures import PASS_ALL, PASS_AT, Estimate, Tallies, measured
from webapp.jobs import JobState
from webapp.leaderboard.costs import training_cost
from webapp.leaderboard.models import Entry
from webapp.leaderboard.problem_scores import item_counts
from webapp.leaderboard.problem_totals import RETURN, TOKENS, TURNS, WELL_FORMED, Totals, read_totals, save_totals
from webapp.suites.models import ItemResult, SuiteEvaluation

MOST_AT_ONCE = 8  # evaluations that a page adds before it answers; workers add theirs when they end


def add_new_entries() -> int:
    """Adds the finished evaluations that are not listed yet, the oldest first; the number of those that remain."""
    waiting = SuiteEvaluation.objects.filter(listed=False, state=JobState.FINISHED).exclude(success=None)
    oldest = list(waiting.order_by("pk").values_list("pk", flat=True)[:MOST_AT_ONCE])
    if not oldest:
        return 0
    found = SuiteEvaluation.objects.select_related(
        "version__suite", "run__forked_from", "run__environment_version__definition"
    )
    for evaluation in found.prefetch_related("items").filter(pk__in=oldest).order_by("pk"):
        add_entry(evaluation)
    return waiting.count()


def add_entry(evaluation: SuiteEvaluation) -> Entry:
    """The row of a finished evaluation with a score in every item; it replaces an earlier one."""
    items = list(evaluation.items.all())
    totals = read_totals(evaluation, items)
    entry = _entry(evaluation, items, totals)
    fields = [field.attname for field in Entry._meta.concrete_fields if not field.primary_key]
    with transaction.atomic():
        Entry.objects.bulk_create([entry], update_conflicts=True, unique_fields=["evaluation"], update_fields=fields)
        save_totals(entry, totals)
        SuiteEvaluation.objects.filter(pk=evaluation.pk).update(listed=True)
    return entry


def _entry(evaluation: SuiteEvaluation, items: list[ItemResult], totals: dict[int, Totals]) -> Entry:
    run, version = evaluation.run, evaluation.version
    found = _measures(evaluation, items, totals)
    fewest = min((item.samples for item in items), default=1)  # pass@k needs k samples of every item
    scored = sum(item.scored for item in items)
    seen = [item.trained_on for item in items]
    cost = training_cost(run, evaluation.step)
    name, preset = evaluation.policy_name[:200], run.preset if run else ""
    model = str(run.config.get("model", {}).get("path", "")) if run else evaluation.model
    if evaluation.success is None or evaluation.low is None or evaluation.high is None:
        raise ValueError(f"{evaluation} has no success rate yet; list it when every item has a score.")
    return Entry(
        evaluation=evaluation,
        suite=version.suite,
        suite_version=version.number,
        key=evaluation.key,
        name=name,
        text="\n".join((name, preset, model, evaluation.run_name, evaluation.get_policy_display())).casefold(),
        policy=evaluation.policy,
        preset=preset,
        model=model[-200:],
        run=run,
        run_name=evaluation.run_name,
        step=evaluation.step,
        training_seed=evaluation.training_seed,
        configuration=evaluation.configuration,
        ended_at=evaluation.ended_at,
        problems=sum(item.problems for item in items),
        samples=fewest,
        planned=evaluation.planned,
        scored=scored,
        success=evaluation.success,
        low=evaluation.low,
        high=evaluation.high,
        mean_return=_value(found.get(RETURN)),
        turns=_value(found.get(TURNS)),
        tokens=_value(found.get(TOKENS)),
        well_formed=_value(found.get(WELL_FORMED)),
        pass_at=_value(found.get(PASS_AT.format(fewest))) if fewest > 1 else None,
        pass_all=_value(found.get(PASS_ALL.format(fewest))) if fewest > 1 else None,
        measures={name: [_short(number) for number in estimate] for name, estimate in found.items()},
        seen=None if None in seen or not scored else sum(count or 0 for count in seen) / scored,
        **{name: getattr(cost, name) for name in cost.__slots__},
    )


def _measures(evaluation: SuiteEvaluation, items: list[ItemResult], totals: dict[int, Totals]) -> dict[str, Estimate]:
    """Over problems, with intervals. Where the file of outcomes is gone, what the rows of the items still have."""
    environments = []
    for item in items:
        samples, successes = item_counts([item])
        known = totals[item.order].fractions if item.order in totals else {}
        environments.append(Tallies(planned=item.samples, samples=samples[0], successes=successes[0], totals=known))
    seed = zlib.crc32(f"{evaluation.key}{evaluation.weights}".encode())
    found = measured(environments, seed=seed, shares={WELL_FORMED})
    return found if totals else {**_means(items), **found}


def _means(items: list[ItemResult]) -> dict[str, Estimate]:
    """Means over items without intervals, of what all items have."""
    columns: dict[str, list[float | None]] = {
        RETURN: [item.mean_return for item in items],
        TURNS: [item.mean_turns for item in items],
        TOKENS: [None if item.tokens is None or not item.played else item.tokens / item.played for item in items],
        WELL_FORMED: [item.well_formed for item in items],
    }
    return {
        name: Estimate(float(np.mean([value for value in values if value is not None])), None, None)
        for name, values in columns.items()
        if values and None not in values
    }


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def _short(number: float | None) -> float | None:
    return None if number is None else round(number, 6)
