"""The verdict as data: part of an event, of the REST API and of the output of `python -m engine assess`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Label = Literal[
    "too_early",
    "in_progress",
    "learning",
    "flat",
    "converged",
    "at_risk",
    "broken_format",
    "collapsing",
    "collapsed",
    "no_signal",
    "degraded",
    "too_short",
]
Level = Literal["good", "neutral", "warn", "critical", "dead"]
RegimeKey = Literal["diverse", "template_collapse", "compressed", "low_entropy_collapse", "entropy_blow_up"]
Unit = Literal["tokens", "share", "turns"]
Severity = Literal["watch", "warn", "critical", "dead"]
ComparedWith = Literal["limit", "start", "best", "median", "mean"]  # of an alert: the number behind its limit

TITLES: dict[Label, str] = {
    "too_early": "Too early to tell",
    "in_progress": "In progress",
    "learning": "Learning",
    "flat": "Flat",
    "converged": "Converged",
    "at_risk": "At risk",
    "broken_format": "Broken format",
    "collapsing": "Collapsing",
    "collapsed": "Collapsed",
    "no_signal": "No signal",
    "degraded": "Degraded",
    "too_short": "Too short",
}
ENDED_TITLES: dict[Label, str] = {"learning": "Learned", "at_risk": "Ended at risk"}  # of runs that are over
LEVELS: dict[Label, Level] = {
    "too_early": "neutral",
    "in_progress": "neutral",
    "learning": "good",
    "flat": "neutral",
    "converged": "good",
    "at_risk": "warn",
    "broken_format": "critical",
    "collapsing": "critical",
    "collapsed": "dead",
    "no_signal": "dead",
    "degraded": "critical",
    "too_short": "neutral",
}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Evidence(_Part):
    """One metric behind the label: means of its first and newest three steps, the best mean, and its limits.

    Of fewer than six steps the first and the newest mean are of half each, so they never overlap. For held-out success
    the numbers are single evaluations, and `low` to `high` is the newest one's 95% interval.
    """

    metric: str
    title: str
    first: float
    now: float
    best: float
    low: float | None = None
    high: float | None = None
    limit: str = ""


class AlertBasis(_Part):
    """The alert that a label stands on. `value` is the metric's newest, `holds` says whether it is beyond `limit`."""

    rule: str
    severity: Severity
    step: int
    seq: int
    metric: str
    value: float
    limit: float | None
    baseline: float | None
    compared_with: ComparedWith
    holds: bool


class Regime(_Part):
    """The regime at the newest diagnosed step, the first step of the stretch that is in it, and the one before."""

    key: RegimeKey
    step: int
    since: int
    previous: RegimeKey | None = None
    format_broken: bool = False  # fewer turns with a thought than at the start, whatever the regime


class RegimeBorders(_Part):
    """Where the regimes end, in the units of the readings, and the means of the `readings` they are taken from."""

    entropy: float
    blow_up: float
    mutual_information: float
    valid_thoughts: float | None
    readings: int
    first_entropy: float
    first_mutual_information: float


class FormatChange(_Part):
    """A lasting change in the form of responses: its first step, the baseline, the value then and now.

    `holds` says whether the newest step still differs; `main_case` is the parse failure that rose most.
    """

    key: str
    metric: str
    title: str
    unit: Unit
    step: int
    baseline: float
    value: float
    now: float
    holds: bool
    main_case: str = ""


class Verdict(_Part):
    """What the rules of `rules_version` make of a run after `step`. `since` is the first step with this label.

    `alert` is set where the label stands on one. `ended`: the run is over, by the alert rule `ended_by` if it has one.
    """

    label: Label
    title: str
    level: Level
    reason: str
    summary: str
    step: int
    since: int
    ended: bool = False
    ended_by: str = ""
    alert: AlertBasis | None = None
    evidence: list[Evidence]
    regime: Regime | None = None
    borders: RegimeBorders | None = None
    format_changes: list[FormatChange]
    format_summary: str
    rules_version: int
