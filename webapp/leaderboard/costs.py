"""What the training of a checkpoint took: its own run's steps up to it, and those of the runs it was forked from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean

from django.db.models.fields.json import KeyTransform

from engine.statistics.time_to_success import first_reached
from webapp.evaluations.models import Evaluation
from webapp.runs.lineage import ancestors_of
from webapp.runs.models import Run
from webapp.runs.usage import devices_of

HALF = 0.5
TOKENS_PER_RESPONSE = "rollout/response_tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCost:
    """None is unknown. `half_known` says that held-out success was measured during training: without `half_updates` it
    never reached 50%."""

    updates: int | None = None
    environment_turns: int | None = None
    generated_tokens: int | None = None
    device_hours: float | None = None
    device: str = ""
    half_updates: int | None = None
    half_hours: float | None = None
    half_known: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """The steps of one run up to one of them. `hours` are device hours; `at` has those by step."""

    turns: float | None
    tokens: int | None
    hours: float | None
    at: dict[int, float]


def training_cost(run: Run | None, step: int | None) -> TrainingCost:
    if run is None or step is None or run.imported_from:
        return TrainingCost()
    ancestors = ancestors_of(run)
    runs = Run.objects.in_bulk([one.id for one in ancestors])
    parts = [_part(runs[one.id], one.upto) for one in ancestors]
    own = _part(run, step)
    is_whole = run.ancestor_steps == sum(one.upto for one in ancestors)  # no ancestor was deleted
    whole = [*parts, own] if is_whole else []
    before = [part.hours for part in parts]
    reached = first_reached(_curve(run, step), rate=HALF)
    earlier = sum(hours for hours in before if hours is not None) if is_whole and None not in before else None
    hours = own.at.get(int(reached)) if reached is not None else None
    return TrainingCost(
        updates=run.ancestor_steps + step,
        environment_turns=_rounded([part.turns for part in whole]),
        generated_tokens=_rounded([part.tokens for part in whole]),
        device_hours=_sum([part.hours for part in whole]),
        device=devices_of(run)[1],
        half_updates=None if reached is None else run.ancestor_steps + int(reached),
        half_hours=None if hours is None or earlier is None else earlier + hours,
        half_known=bool(_curve(run, step)),
    )


def _part(run: Run, upto: int) -> _Part:
    """Unknown if the rows of its steps do not reach `upto`."""
    rows = list(
        run.steps.filter(step__lte=upto)
        .order_by("step")
        .values_list("step", "tokens", "seconds", KeyTransform(TOKENS_PER_RESPONSE, "metrics"))
    )
    if not rows or rows[-1][0] != upto:
        return _Part(None, None, None, {})
    devices = devices_of(run)[0]
    at = {step: devices * seconds / 3600 for step, _, seconds, _ in rows}
    return _Part(_turns([(tokens, mean) for _, tokens, _, mean in rows]), rows[-1][1], at[upto], at)


def _turns(steps: list[tuple[int, object]]) -> float | None:
    """From the tokens sampled so far and the mean tokens of a response, step by step."""
    turns, before = 0.0, 0
    for tokens, mean in steps:
        if not isinstance(mean, int | float) or mean <= 0:
            return None
        turns, before = turns + (tokens - before) / mean, tokens
    return turns


def _curve(run: Run, upto: int) -> list[tuple[float, float]]:
    """Held-out success by step, the mean over the run's environments."""
    rows = Evaluation.objects.filter(run=run, step__lte=upto, episodes__gt=0, requested=False)
    by_step: dict[int, dict[str, float]] = defaultdict(dict)
    for step, environment, success in rows.order_by("final").values_list("step", "environment", "success"):
        by_step[step][environment] = success
    most = max((len(found) for found in by_step.values()), default=0)
    return [(step, fmean(found.values())) for step, found in by_step.items() if len(found) == most]


def _sum(numbers: list[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(numbers) else None


def _rounded(numbers: list[float | None] | list[int | None]) -> int | None:
    total = _sum(list(numbers))
    return None if total is None else round(total)
