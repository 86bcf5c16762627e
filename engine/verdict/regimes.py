"""Regimes: where a run is on conditional entropy and mutual information, with borders from its own first readings.

The four regimes are those of RAGEN v2 (arXiv 2604.06268), which gives no numbers for where they end. Entropy blow-up
is a fifth, of entropy far above its start; broken format is independent of them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal, NamedTuple

from engine.config import DetectorsConfig
from engine.diagnostics.default_rules import DEFAULT_RULES
from engine.diagnostics.rule_config import RuleConfig, TemplateCollapseConfig
from engine.verdict.course import Metrics
from engine.verdict.thresholds import ENTROPY_BLOW_UP, VALID_THOUGHTS
from engine.verdict.types import Regime, RegimeBorders, RegimeKey

Per = Literal["thought", "token"]

MI_RATIO, VALID_RATE = "collapse/mi_ratio", "collapse/valid_thought_rate"
ENTROPY: dict[Per, str] = {
    "thought": "collapse/conditional_entropy",
    "token": "collapse/conditional_entropy_token",
}
METRICS = (MI_RATIO, VALID_RATE, *ENTROPY.values())
UNITS: dict[Per, str] = {"thought": "nats per thought", "token": "nats per token"}


class RegimeText(NamedTuple):
    title: str
    description: str


REGIMES: dict[RegimeKey, RegimeText] = {
    "diverse": RegimeText("Diverse reasoning", "thoughts vary and depend on their prompt"),
    "template_collapse": RegimeText("Template collapse", "thoughts vary but hardly depend on their prompt"),
    "compressed": RegimeText("Compressed reasoning", "thoughts vary little and still depend on their prompt"),
    "low_entropy_collapse": RegimeText("Low-entropy collapse", "nearly the same thought for every prompt"),
    "entropy_blow_up": RegimeText("Entropy blow-up", "thoughts vary far more than at the start"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegimeRule:
    """The limits of a rule against template collapse, which are the borders too. `own`: the run has that rule."""

    name: str
    own: bool
    mi_share: float
    entropy_share: float
    baseline: int
    mi_floor: float


def regime_rule(detectors: DetectorsConfig) -> RegimeRule:
    """From the run's own rule against template collapse, else from the default one."""
    own = _against_templates(detectors.rules)
    rule = (own or _against_templates(DEFAULT_RULES))[0]
    return RegimeRule(
        name=rule.name,
        own=bool(own),
        mi_share=rule.limit,
        entropy_share=rule.holding_limit,
        baseline=rule.baseline,
        mi_floor=rule.floor,
    )


def _against_templates(rules: Sequence[RuleConfig]) -> list[TemplateCollapseConfig]:
    return [rule for rule in rules if isinstance(rule, TemplateCollapseConfig)]


class Reading(NamedTuple):
    """One diagnosed step: H(Z|X), MI / ln N, and the share of turns with a thought where it was measured."""

    step: int
    entropy: float
    mutual_information: float
    valid: float | None


def reading_of(step: int, metrics: Metrics, per: Per = "thought") -> Reading | None:
    """None at a step without diagnostics."""
    if MI_RATIO not in metrics or ENTROPY[per] not in metrics:
        return None
    return Reading(step, metrics[ENTROPY[per]], metrics[MI_RATIO], metrics.get(VALID_RATE))


def borders_of(first: Sequence[Reading], rule: RegimeRule) -> RegimeBorders:
    """From the first readings of a run, at least one and at most `rule.baseline`."""
    entropy = fmean(one.entropy for one in first)
    mutual_information = fmean(one.mutual_information for one in first)
    valid = [one.valid for one in first if one.valid is not None]
    return RegimeBorders(
        entropy=rule.entropy_share * entropy,
        blow_up=ENTROPY_BLOW_UP * entropy,
        mutual_information=rule.mi_share * max(mutual_information, rule.mi_floor),
        valid_thoughts=VALID_THOUGHTS * fmean(valid) if len(valid) == len(first) else None,
        readings=len(first),
        first_entropy=entropy,
        first_mutual_information=mutual_information,
    )


def regime_of(reading: Reading, borders: RegimeBorders) -> RegimeKey:
    if reading.entropy > borders.blow_up:
        return "entropy_blow_up"
    varied = reading.entropy >= borders.entropy
    if reading.mutual_information >= borders.mutual_information:
        return "diverse" if varied else "compressed"
    return "template_collapse" if varied else "low_entropy_collapse"


def is_format_broken(reading: Reading, borders: RegimeBorders) -> bool:
    return borders.valid_thoughts is not None and reading.valid is not None and reading.valid < borders.valid_thoughts


@dataclass(slots=True)
class RegimeTracker:
    """Follows a run reading by reading. Borders move until there are `rule.baseline` readings, and are fixed then."""

    rule: RegimeRule
    per: Per = "thought"
    first: list[Reading] = field(default_factory=list)
    borders: RegimeBorders | None = None
    regime: Regime | None = None

    def add(self, step: int, metrics: Metrics) -> None:
        reading = reading_of(step, metrics, self.per)
        if reading is None:
            return
        if len(self.first) >= self.rule.baseline and self.borders is not None:
            self.regime = _moved(self.regime, reading, self.borders)
            return
        self.first.append(reading)
        self.borders, self.regime = borders_of(self.first, self.rule), None
        for one in self.first:
            self.regime = _moved(self.regime, one, self.borders)


def _moved(before: Regime | None, reading: Reading, borders: RegimeBorders) -> Regime:
    key = regime_of(reading, borders)
    since, previous = reading.step, before.key if before else None
    if before is not None and before.key == key:
        since, previous = before.since, before.previous
    broken = is_format_broken(reading, borders)
    return Regime(key=key, step=reading.step, since=since, previous=previous, format_broken=broken)


class RegimeMap(NamedTuple):
    """Every reading of a run placed: columns of equal length, and what the borders are."""

    borders: RegimeBorders | None
    steps: list[int]
    regimes: list[RegimeKey]
    format_broken: list[bool]
    explanation: str


def regime_map(readings: Sequence[Reading], rule: RegimeRule, per: Per) -> RegimeMap:
    if not readings:
        return RegimeMap(None, [], [], [], "")
    borders = borders_of(readings[: max(1, rule.baseline)], rule)
    return RegimeMap(
        borders=borders,
        steps=[one.step for one in readings],
        regimes=[regime_of(one, borders) for one in readings],
        format_broken=[is_format_broken(one, borders) for one in readings],
        explanation=explain_borders(borders, rule, per),
    )


def explain_borders(borders: RegimeBorders, rule: RegimeRule, per: Per) -> str:
    start = "the first reading" if borders.readings == 1 else f"the mean of the first {borders.readings} readings"
    floor = ""
    if rule.mi_floor > borders.first_mutual_information:
        floor = f"; that is below the rule's floor of {rule.mi_floor:g}, so the floor is used"
    source = (
        f"Both are the limits of this run's alert rule {rule.name}."
        if rule.own
        else "Both are the limits of the default alert rule template_collapse, which this run does not have."
    )
    return (
        "The four regimes are those of RAGEN v2 (arXiv 2604.06268), which gives no numbers for where they end. The "
        f"borders are Starboard's own, relative to the start of this run. MI / ln N: {borders.mutual_information:.3g}, "
        f"{rule.mi_share:.0%} of {start} ({borders.first_mutual_information:.3g}{floor}). "
        f"H(Z|X): {borders.entropy:.3g} {UNITS[per]}, {rule.entropy_share:.0%} of {start} "
        f"({borders.first_entropy:.3g}). {source} Entropy blow-up begins at {ENTROPY_BLOW_UP:g} times the start "
        f"({borders.blow_up:.3g}), which 10 of 17 recorded runs passed before they collapsed. A diamond marks a step "
        f"where the share of turns with a thought is below {VALID_THOUGHTS:.0%} of the start: the format is breaking, "
        "whatever the regime."
    )
