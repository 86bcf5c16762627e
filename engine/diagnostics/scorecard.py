"""How well rules predict collapse on recorded runs, and which limit is best on some of them. No torch.

A limit that is chosen and reported on the same runs looks better than it is, so `choose` takes separate runs.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.config import DetectorsConfig
from engine.diagnostics.recordings import Recording, replay
from engine.diagnostics.rule_config import AgreementConfig, LimitRule, RuleConfig

FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)  # of the given limit, where there is no natural range
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One rule over some runs. A hit fires before the step from which success is lost; a later alert is late."""

    rule: str
    limit: float  # 0 for a kind that has none
    collapsed: int
    healthy: int
    leads: tuple[int, ...]  # steps from the first alert to the collapse, of each hit
    late: int
    false_alarms: int
    matched: float | None  # false alarms before the step of a collapse, mean over the collapses; None without both

    @property
    def hits(self) -> int:
        return len(self.leads)

    @property
    def lead(self) -> float:
        return statistics.median(self.leads) if self.leads else 0.0


def score(rules: DetectorsConfig, recordings: Sequence[Recording]) -> list[Score]:
    """Each rule's score, in the order of the rules."""
    ends = [recording.collapsed_at for recording in recordings]
    firsts = [_first_alerts(recording, rules) for recording in recordings]
    return [tally(rule.name, _limit(rule), ends, [first.get(rule.name) for first in firsts]) for rule in rules.rules]


def _first_alerts(recording: Recording, rules: DetectorsConfig) -> dict[str, int]:
    """The step of each rule's first alert."""
    found: dict[str, int] = {}
    for firing in replay(recording, rules):
        found.setdefault(firing.alert.rule, firing.step)
    return found


def tally(rule: str, limit: float, ends: Sequence[int | None], firsts: Sequence[int | None]) -> Score:
    """`ends` has the step of each run's collapse, `firsts` that of the rule's first alert; None for none.

    A run that kept its success goes on for all its steps, and so has more of them in which to raise an alert than one
    that collapses early. `matched` therefore counts its alert only up to where a collapsed run had lost its success.
    """
    both = [(end, first) for end, first in zip(ends, firsts, strict=True) if end is not None and first is not None]
    leads = tuple(end - first for end, first in both if first < end)
    collapses = [end for end in ends if end is not None]
    healthy = [first for end, first in zip(ends, firsts, strict=True) if end is None]
    alarms = [first for first in healthy if first is not None]
    before = [sum(first < end for first in alarms) for end in collapses]
    return Score(
        rule=rule,
        limit=limit,
        collapsed=len(collapses),
        healthy=len(healthy),
        leads=leads,
        late=len(both) - len(leads),
        false_alarms=len(alarms),
        matched=statistics.fmean(before) if before and healthy else None,
    )


def _limit(rule: RuleConfig) -> float:
    return rule.limit if isinstance(rule, LimitRule) else 0.0


def choose(rules: DetectorsConfig, recordings: Sequence[Recording], *, false_alarms: int = 0) -> DetectorsConfig:
    """The rules with limits chosen on `recordings`: most hits with at most so many false alarms, then most lead in all.

    Of limits that do equally well the middle one is taken, furthest from either edge. A rule whose every limit raises
    more false alarms, or hits nothing, keeps its limit.
    """
    chosen = [
        rule
        if not isinstance(rule, LimitRule) or isinstance(rule, AgreementConfig)  # no limit, or a number of rules
        else rule.model_copy(update={"limit": _best_limit(rule, recordings, false_alarms)})
        for rule in rules.rules
    ]
    return rules.model_copy(update={"rules": tuple(chosen)})


def _best_limit(rule: LimitRule, recordings: Sequence[Recording], false_alarms: int) -> float:
    tried = [score(_alone(rule, limit), recordings)[0] for limit in _candidates(rule)]
    good = [one for one in tried if one.false_alarms <= false_alarms and one.hits]
    if not good:
        return rule.limit
    best = max((one.hits, sum(one.leads)) for one in good)
    equal = [one.limit for one in good if (one.hits, sum(one.leads)) == best]
    return equal[(len(equal) - 1) // 2]


def _alone(rule: LimitRule, limit: float) -> DetectorsConfig:
    return DetectorsConfig().model_copy(update={"rules": (rule.model_copy(update={"limit": limit}),)})


def _candidates(rule: LimitRule) -> Iterable[float]:
    """Limits to try, ascending, the rule's own among them."""
    bounds = rule.bounds()
    tried = SHARES if bounds.high == 1 else tuple(factor * rule.limit for factor in FACTORS)
    return sorted({rule.limit, *(limit for limit in tried if bounds.low < limit < bounds.high)})
