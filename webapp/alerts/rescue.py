"""What a fork after an alert starts from and changes (`engine.rescue`), for the forks of rules and of users alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.config import RunConfig
from engine.errors import ConfigError
from engine.rescue import Remedy, Sign, remedies, sign_of, signs_of, with_remedies
from webapp.forms.texts import text_of
from webapp.runs.live_settings import current
from webapp.runs.models import Alert, Run

Shown = tuple[str, str, str, str]  # field, before, after, the rules that it answers


def begun_at(alert: Alert) -> int:
    """The first step of any sign that was open with the alert: earlier checkpoints are good."""
    return next((step for step in (alert.fork_before, alert.since) if step is not None), alert.step)


def signs_between(run: Run, *, since: int, until: int) -> list[Sign]:
    """What the alerts between two steps found."""
    return signs_of(run.alerts.filter(step__gte=since, step__lte=until).order_by("seq"))


def rescue(alert: Alert, config: RunConfig, *, start: int) -> tuple[RunConfig, list[Remedy]]:
    """`config`, that of a fork from step `start`, with what the alert and the signs that were open with it suggest to
    change in the run's; unchanged where that does not fit."""
    signs = signs_between(alert.run, since=begun_at(alert), until=alert.step) or [sign_of(alert)]
    try:
        changes = remedies(current(alert.run), signs, start=start)
        return with_remedies(config, changes), changes
    except ConfigError:
        return config, []


def shown(changes: Iterable[Remedy]) -> list[Shown]:
    return [(one.field, _before(one), _text(one.new), ", ".join(one.because)) for one in changes]


def _before(one: Remedy) -> str:
    """A rate that rises is not understood by the value that it began with."""
    then = "" if one.then is None else f" ({_text(one.then)} at the first sign)"
    return _text(one.old) + then


def _text(value: Any) -> str:
    """A section, such as the filter, by its type and main value."""
    if not isinstance(value, dict):
        return text_of(value)
    return " ".join(text_of(value[key]) for key in ("type", "value") if key in value)
