"""A small sweep, and runs of it that end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User

from engine.config import RunConfig
from engine.statistics.proportions import wilson
from webapp.evaluations.models import Evaluation
from webapp.runs.models import Run
from webapp.runs.states import RunState
from webapp.sweeps.advancing import advance_all
from webapp.sweeps.drafts import draft
from webapp.sweeps.models import PlannedRun, Sweep
from webapp.sweeps.services import create
from webapp.updates import publish_run

BASE = RunConfig.model_validate({"steps": 4})
KL = {"type": "values", "field": "loss.kl_coefficient", "values": [0.0, 0.1]}
STEPS = {"type": "values", "field": "steps", "values": [5, 6]}
EPISODES = 100


def a_sweep(owner: User | None = None, **more: Any) -> Sweep:
    """Two by two with seeds 1 and 2: eight runs, two of them at once."""
    given = {"axes": [KL, STEPS], "seeds": [1, 2], **more.pop("plan", {})}
    made = draft(BASE, given)
    return create(made, base=BASE, owner=owner, **{"name": "kl and steps", "at_once": 2, **more})


def queued(sweep: Sweep) -> list[Run]:
    return list(Run.objects.filter(planned__sweep=sweep, state=RunState.QUEUED).order_by("planned__order"))


def finish(sweep: Sweep, successes: Callable[[PlannedRun], int] | None = None) -> None:
    """Ends all of its runs as they are launched, each with so many successes."""
    while runs := queued(sweep):
        for run in runs:
            end(run, RunState.FINISHED, successes(sweep.planned.get(run=run)) if successes else None)
        advance_all()
    sweep.refresh_from_db()


def end(run: Run, state: RunState, successes: int | None = None) -> None:
    """As if its engine had ended it, with `successes` of 100 held-out episodes."""
    Run.objects.filter(pk=run.pk).update(state=state, step=4, seconds=8.0)
    if successes is not None:
        low, high = wilson(successes, EPISODES)
        Evaluation.objects.create(
            run=run, step=4, time=1.0, environment=run.config["environments"][0]["tag"], episodes=EPISODES,
            successes=successes, success=successes / EPISODES, low=low, high=high, mean_return=successes / EPISODES,
            first_seed=1, temperature=1.0, final=True,
        )  # fmt: skip
    publish_run(run.pk, run.last_seq)
