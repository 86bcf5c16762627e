"""A run's rows as exports are written from them. Steps are read one by one, whatever their number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from django.db.models import TextField
from django.db.models.functions import Cast
from pydantic_core import from_json

from engine.diagnostics.held_out import held_out_metrics
from engine.exports.types import About, Step
from webapp.evaluations.models import Evaluation
from webapp.runs.models import Run
from webapp.runs.states import RunState

COLUMNS = ("step", "time", "tokens", "seconds", "text")


def about_of(run: Run) -> About:
    started, ended = run.started_at or run.created_at, run.finished_at
    return About(
        id=run.pk,
        name=run.name,
        project=run.project.name,
        user=run.owner.get_username() if run.owner is not None else "",
        started=started.timestamp(),
        ended=ended.timestamp() if ended is not None and run.is_terminal else None,
        succeeded=run.state == RunState.FINISHED,
        config=run.config.get("reported") or run.config,
        tags=[tag.name for tag in run.tags.all()],
        notes=run.notes,
    )


def steps_of(run: Run) -> Iterator[Step]:
    """In order, each with the held-out metrics of the evaluation after it."""
    held_out = _held_out(run)
    rows = run.steps.order_by("step").annotate(text=Cast("metrics", TextField()))
    for step, time, tokens, seconds, text in rows.values_list(*COLUMNS).iterator(chunk_size=500):
        yield Step(step, time, tokens, seconds, {**from_json(text), **held_out.get(step, {})})


def metric_names(run: Run) -> list[str]:
    held_out = {name for metrics in _held_out(run).values() for name in metrics}
    return sorted(held_out.union(run.metric_names.values_list("name", flat=True)))


def _held_out(run: Run) -> dict[int, dict[str, float]]:
    """By step; of two evaluations after one step the final one counts."""
    found: dict[int, dict[str, Evaluation]] = defaultdict(dict)
    for row in Evaluation.objects.filter(run=run, requested=False).order_by("step", "final"):
        found[row.step][row.environment] = row
    return {step: held_out_metrics(of.values()) for step, of in found.items()}
