"""The model card in the download of a checkpoint, with what is known of it here."""

from __future__ import annotations

from engine.events import CheckpointEvaluated, EvaluationCompleted
from engine.model_export.card import Origin, SuiteResult, card
from engine.model_export.held_out import counted
from engine.model_export.licence import licence_of
from webapp.jobs import JobState
from webapp.runs.live_settings import current
from webapp.runs.models import Run
from webapp.runs.recorded_events import events_of
from webapp.suites.models import ItemResult


def model_card(run: Run, step: int, *, averaged: bool) -> str:
    config = current(run)
    evaluations = [*events_of(run, EvaluationCompleted, step=step), *events_of(run, CheckpointEvaluated, step=step)]
    origin = Origin(
        run=run.name,
        step=step,
        config=config,
        averaged=averaged,
        held_out=counted(evaluations).get(step, []),
        suites=_suite_results(run, step),
        licence=licence_of(config.model.versioned_path),
    )
    return card(origin)


def _suite_results(run: Run, step: int) -> list[SuiteResult]:
    """Of finished evaluations of the checkpoint on suites."""
    rows = ItemResult.objects.filter(
        evaluation__run=run, evaluation__step=step, evaluation__state=JobState.FINISHED
    ).select_related("evaluation__version__suite")
    return [
        SuiteResult(
            suite=str(row.evaluation.version),
            item=row.name,
            problems=row.problems,
            episodes=row.played,
            success=row.success,
            low=row.low,
            high=row.high,
            interval=row.interval,
        )
        for row in rows.order_by("evaluation", "order")
    ]
