"""An alert rule as data: its metric, its limit, and its action. No torch.

What each kind compares is in `rules`, `history_rules` and `joint_rules`; the default rules are in `default_rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.diagnostics.held_out import AREA as HELD_OUT
from engine.events import Severity
from engine.metrics import describe

Action = Literal["notify", "checkpoint", "pause", "stop", "fork"]
Kind = Literal[
    "below",
    "above",
    "falls",
    "rises",
    "gains",
    "falls_from_best",
    "spike",
    "z_score",
    "reward_std_collapsed",
    "no_signal",
    "template_collapse",
    "agreement",
]


class Bounds(NamedTuple):
    """The range of `limit`, both ends excluded."""

    low: float
    high: float


ANY = Bounds(float("-inf"), float("inf"))
SHARE = Bounds(0.0, 1.0)
TIMES = Bounds(1.0, float("inf"))
LIMITS: dict[Kind, Bounds] = {
    "below": ANY,
    "above": ANY,
    "falls": SHARE,
    "rises": TIMES,
    "gains": Bounds(0.0, float("inf")),
    "falls_from_best": SHARE,
    "spike": TIMES,
    "z_score": Bounds(0.0, float("inf")),
    "reward_std_collapsed": SHARE,
    "no_signal": Bounds(-1.0, 1.0),
    "template_collapse": SHARE,
    "agreement": Bounds(1.0, float("inf")),
}
SMOOTHED: tuple[Kind, ...] = ("below", "above", "falls", "rises", "gains")  # kinds that can read a moving mean
OF_STEPS: tuple[Kind, ...] = (
    "reward_std_collapsed",
    "no_signal",
    "template_collapse",
)  # kinds that read further metrics of a training step


class RuleConfig(BaseModel):
    """One rule. It fires after `steps` breached readings in a row, and is resolved after `recovery` that are not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,59}$", description="Unique short name of the rule.")
    kind: Kind = Field(
        description="The condition. below, above: compared with `limit`. falls, rises: compared with `limit` times the "
        "baseline, the mean of the first readings. gains: above the baseline plus `limit`. falls_from_best: the mean "
        "of "
        "the last `window` readings below `limit` times the best such mean. spike: above `limit` times the median of "
        "the "
        "`window` readings before. z_score: more than `limit` standard deviations from their mean. "
        "reward_std_collapsed: falls, with severity watch while success holds. no_signal: no success, and equal "
        "returns "
        "in every group. template_collapse: falls while `holding` does not. agreement: at least `limit` of the rules "
        "`among` fire."
    )
    metric: str = Field(
        description="Metric that it reads, by its name in the glossary. Steps without it are skipped. eval/ metrics "
        "are "
        "read at each evaluation."
    )
    limit: float = Field(
        0.0, description="Limit; the kind decides what it is compared with, multiplied with or added to."
    )
    steps: int = Field(3, ge=1, le=10_000, description="Breached readings in a row before it fires. 1: immediately.")
    recovery: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Readings in a row that are not breached before it is resolved; 0: as many as `steps`.",
    )
    cooldown: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Readings after an alert in which it raises no other; an incident that lasts longer is reported "
        "then. 0: none. More readings silence a rule that flaps.",
    )
    mean_over: int = Field(
        1,
        ge=1,
        le=1000,
        description="below, above, falls, rises, gains: compare the mean of so many last values.",
    )
    window: int = Field(10, ge=2, le=1000, description="Readings in the window of falls_from_best, spike and z_score.")
    baseline: int = Field(
        10, ge=1, le=1000, description="First readings, whose mean is the baseline; they raise nothing."
    )
    floor: float = Field(
        0.0,
        ge=0,
        description="Smallest baseline or best from which a fall counts; for z_score the smallest difference that "
        "counts. 0: any.",
    )
    holding: str = Field("", description="template_collapse: metric that must not have fallen as well.")
    holding_limit: float = Field(
        0.5, ge=0, le=10, description="template_collapse: share of its own baseline that `holding` must keep."
    )
    among: tuple[str, ...] = Field((), description="agreement: names of the rules that count.")
    severity: Severity = Field("warn", description="watch, warn, critical or dead.")
    action: Literal["by_severity"] | Action = Field(
        "by_severity",
        description="Action with the alert: notify only, checkpoint, pause or stop the run. fork stops it too, and the "
        "site launches a fork for the remaining steps from the last checkpoint before the incident: once per run, at "
        "most checkpoint.restarts times in a row. by_severity: the action of the severity.",
    )
    subject: str = Field("", max_length=120, description="Start of the message; the metric's title if left blank.")
    advice: str = Field("", max_length=500, description="End of the message: what to do.")

    @model_validator(mode="after")
    def _check(self) -> RuleConfig:
        bounds = LIMITS[self.kind]
        if not bounds.low < self.limit < bounds.high:
            raise ValueError(
                f"limit: {self.limit:g} is out of range for {self.kind}. Give a number above {bounds.low:g} and below "
                f"{bounds.high:g}."
            )
        for metric in filter(None, (self.metric, self.holding)):
            _check_metric(metric)
        if self.mean_over > 1 and self.kind not in SMOOTHED:
            raise ValueError(f"mean_over: {self.kind} has no moving mean. Use 1, or one of {', '.join(SMOOTHED)}.")
        if self.kind in OF_STEPS and any(one.startswith(HELD_OUT) for one in (self.metric, self.holding)):
            raise ValueError(
                f"metric: {self.kind} reads training steps, which have no {HELD_OUT} metrics. Choose another."
            )
        if bool(self.holding) != (self.kind == "template_collapse"):
            raise ValueError("holding: required for template_collapse and not allowed for other kinds.")
        if bool(self.among) != (self.kind == "agreement"):
            raise ValueError("among: required for agreement and not allowed for other kinds.")
        if self.kind == "agreement" and self.limit > len(self.among):
            raise ValueError(f"limit: {self.limit:g} of {len(self.among)} rules can never fire. Lower the limit.")
        return self


def _check_metric(name: str) -> None:
    if "no entry" in describe(name).meaning:
        raise ValueError(f"metric: there is no metric {name!r}. Use a name of the glossary, such as rollout/success.")


def limit_of(rule: RuleConfig, reference: float) -> float | None:
    """The limit on the metric's own axis, given what the rule compares with; None for kinds that have none."""
    if rule.kind in ("below", "above"):
        return rule.limit
    if rule.kind == "gains":
        return reference + rule.limit
    if rule.kind in ("z_score", "no_signal", "agreement"):
        return None
    return reference * rule.limit


def check_together(rules: Sequence[RuleConfig]) -> None:
    """`ValueError` for repeated names, and for agreements on rules that do not exist or are agreements."""
    names = [rule.name for rule in rules]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"rules: several are named {repeated[0]}. Give each a unique name.")
    countable = {rule.name for rule in rules if rule.kind != "agreement"}
    for rule in rules:
        if unknown := [name for name in rule.among if name not in countable]:
            raise ValueError(
                f"rules: {rule.name} counts {unknown[0]}, which is not a rule, or is an agreement. Use some of: "
                f"{', '.join(sorted(countable))}."
            )
