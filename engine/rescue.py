"""What a fork changes so that it does not end as the run it starts from. No torch.

The changes follow the signs that the run's alerts found, since each kind of collapse has a cause of its own:

* updates that are too large (KL, gradient norm, lost format, lost success): a lower learning rate, the symmetric clip
  of PPO, fewer updates per step and one pass over its trajectories, since all bound how far one step moves the policy
  (arXiv 2504.20073, section 4);
* lost exploration (entropy or within-group reward std fell): the upper clip of DAPO (arXiv 2503.14476), an entropy
  bonus, and a lower learning rate;
* thoughts that ignore their prompts (template collapse): groups filtered by their reward variance (arXiv 2604.06268,
  section 5), and a lower learning rate.

Regularisers can drown the task's gradient (arXiv 2604.06268), so unless exploration was lost, an entropy bonus above
the default is lowered to it. A rate under which a sign begins within ten steps is far too high, and is divided by ten;
others by about three. Where the rate rises, in a warm-up or by its schedule, that is the rate of the step at which the
first sign began, the rise ends there, and a fork has no higher rate than the checkpoint that it starts from was saved
with, which showed no sign.

`python -m benchmarks.science.rescue` measures how often that helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from engine.algorithms.filters import TopP
from engine.config import RunConfig
from engine.config.learning_rate import learning_rate
from engine.config.live import value_of, with_fields
from engine.config.reading import build_config
from engine.config.schedules import ConstantSchedule, ExponentialSchedule
from engine.diagnostics.held_out import AREA as HELD_OUT

RATE_FACTOR, EARLY_FACTOR = 0.3, 0.1
EARLY = 10  # steps
RATE = "optimizer.learning_rate"
SYMMETRIC_CLIP, HIGHER_CLIP = 0.2, 0.28
ENTROPY_BONUS = 0.001
FILTER = TopP(value=0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """An alert: its rule, its metric, whether that was above what it was compared with, and the step at which that
    began."""

    rule: str
    metric: str
    rose: bool
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One changed setting. `because` names the rules that it answers; `then` is the value that was in force when the
    first sign began, of a rate that rises."""

    field: str
    old: Any
    new: Any
    because: tuple[str, ...]
    then: Any = None


class Raised(Protocol):
    """An alert, as an event or as a row of the site."""

    @property
    def rule(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def baseline(self) -> float | None: ...
    @property
    def since(self) -> int | None: ...
    @property
    def step(self) -> int | None: ...


def sign_of(alert: Raised) -> Sign:
    rose = alert.value >= (alert.baseline or 0.0)
    return Sign(rule=alert.rule, metric=alert.metric, rose=rose, since=begun_at(alert))


def begun_at(alert: Raised) -> int:
    return (alert.step or 0) if alert.since is None else alert.since


def signs_of(alerts: Iterable[Raised]) -> list[Sign]:
    """What alerts found, each rule once, the first to begin first. Severity *watch* is no sign of a collapse."""
    serious = [alert for alert in alerts if alert.severity != "watch"]
    ordered = sorted(serious, key=begun_at)
    first: dict[str, Raised] = {}
    for alert in ordered:
        first.setdefault(alert.rule, alert)
    return [sign_of(alert) for alert in first.values()]


Settings = dict[str, Any]  # by dotted field


def smaller_updates(config: RunConfig, rate: Settings) -> Settings:
    clip = min(config.loss.clip_low, SYMMETRIC_CLIP)
    return {
        **rate,
        "optimizer.updates_per_step": max(1, config.optimizer.updates_per_step // 2),
        "optimizer.epochs": 1,
        "loss.clip_high": min(config.loss.clip_high, clip),
        **_small_bonus(config),
    }


def more_exploration(config: RunConfig, rate: Settings) -> Settings:
    return {
        **rate,
        "loss.clip_high": max(config.loss.clip_high, HIGHER_CLIP),
        "loss.entropy_coefficient": max(config.loss.entropy_coefficient, ENTROPY_BONUS),
    }


def informative_groups(config: RunConfig, rate: Settings) -> Settings:
    unfiltered = not config.filter.selects
    return {
        **rate,
        "filter": (FILTER if unfiltered else config.filter).model_dump(mode="json"),
        **_small_bonus(config),
    }


def _small_bonus(config: RunConfig) -> Settings:
    return {"loss.entropy_coefficient": min(config.loss.entropy_coefficient, ENTROPY_BONUS)}


def lower_rate(config: RunConfig, signs: Sequence[Sign], start: int) -> Settings:
    """Of the rate in force when the first sign began; a rise of the rate ends there."""
    first = first_of(signs)
    factor = EARLY_FACTOR if first is not None and first <= EARLY else RATE_FACTOR
    rate = factor * rate_at(config, first)
    if start and first is not None:
        rate = min(rate, rate_at(config, start))
    changes: Settings = {RATE: _rounded(rate)}
    if first is not None:
        if (step := _step_of_all(config, first)) < config.optimizer.warmup_steps:
            changes["optimizer.warmup_steps"] = step
        if _grows(config):
            changes["optimizer.schedule"] = ConstantSchedule().model_dump(mode="json")
    return changes


def rate_at(config: RunConfig, step: int | None) -> float:
    """At a step of the run, if it rises there; else the highest, of which a schedule takes its share."""
    optimizer = config.optimizer
    counted = _step_of_all(config, step or 0)
    if step is None or not (_grows(config) or counted < optimizer.warmup_steps):
        return optimizer.learning_rate
    return learning_rate(optimizer, counted, steps=config.model.start_from.steps_before + config.steps)


def _step_of_all(config: RunConfig, step: int) -> int:
    """With those before a fork, from which warm-up and schedule count."""
    return config.model.start_from.steps_before + max(1, step)


def _grows(config: RunConfig) -> bool:
    schedule = config.optimizer.schedule
    return isinstance(schedule, ExponentialSchedule) and schedule.final_ratio > 1


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")


def first_of(signs: Sequence[Sign]) -> int | None:
    """The step at which the first sign began. Held-out success is measured seldom, so a sign of it may have begun long
    after the evaluation before: it counts only where there is no other."""
    dated = [sign.since for sign in signs if not sign.metric.startswith(HELD_OUT)]
    return min(dated or [sign.since for sign in signs], default=None)


Cause = Callable[[RunConfig, Settings], Settings]
EXPLORATION = ("policy/entropy", "reward/within_group_std", "collapse/conditional_entropy_token")
TEMPLATES = ("collapse/mi_ratio", "collapse/mutual_information", "collapse/template_share")
UNKNOWN = Sign(rule="", metric="", rose=True, since=0)


def cause_of(sign: Sign) -> Cause:
    """Updates that are too large unless the metric says otherwise: they are the most frequent cause."""
    if sign.metric in EXPLORATION and not sign.rose:
        return more_exploration
    return informative_groups if sign.metric in TEMPLATES else smaller_updates


def remedies(config: RunConfig, signs: Iterable[Sign], *, start: int = 0) -> list[Remedy]:
    """What to change in `config`, that of the run which showed the `signs`; at least smaller updates. Where two signs
    disagree, the first decides. The fork starts from its checkpoint of step `start`; 0 is the model itself."""
    found: dict[str, Remedy] = {}
    given = [*signs]
    rate = lower_rate(config, given, start)
    for sign in given or [UNKNOWN]:
        for field, new in cause_of(sign)(config, rate).items():
            old = value_of(config, field)
            known = found.get(field)
            if known is not None and known.new == new:
                names = (*known.because, sign.rule)
                found[field] = replace(known, because=names)
            elif known is None and new != old:
                found[field] = Remedy(field=field, old=old, new=new, because=(sign.rule,) if sign.rule else ())
    if RATE in found and (then := rate_at(config, first_of(given))) != found[RATE].old:
        found[RATE] = replace(found[RATE], then=_rounded(then))
    return list(found.values())


def with_remedies(config: RunConfig, changes: Iterable[Remedy]) -> RunConfig:
    """`config` with the changes, checked as any other; `ConfigError` if they do not fit it."""
    return build_config(with_fields(config, {change.field: change.new for change in changes}))
