"""What one alert rule is, as data: what it watches, how far is too far, and what happens then. No torch.

How each kind judges is in `rules`, `history_rules` and `joint_rules`; the rules of a run that names none are in
`default_rules`.
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
    """What `limit` may be: strictly between the two."""

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
SMOOTHED: tuple[Kind, ...] = ("below", "above", "falls", "rises", "gains")  # the kinds that may judge a mean
OF_STEPS: tuple[Kind, ...] = (
    "reward_std_collapsed",
    "no_signal",
    "template_collapse",
)  # these read more of a training step


class RuleConfig(BaseModel):
    """One rule. It speaks after `steps` breached readings in a row, once until `recovery` readings were not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,59}$", description="Short name of the rule, unlike any other's.")
    kind: Kind = Field(
        description="How it judges. below, above: against `limit`. falls, rises: against `limit` times the baseline, "
        "the mean of the first readings. gains: over the baseline plus `limit`. falls_from_best: the mean of the last "
        "`window` readings against `limit` times the best such mean. spike: over `limit` times the median of the "
        "`window` readings before. z_score: further than `limit` standard deviations from their mean. reward_std_collapsed: "
        "falls, but only watched where success holds. no_signal: no success, and in no group any spread. "
        "template_collapse: falls while `holding` does not. agreement: at least `limit` of the rules `among` fire."
    )
    metric: str = Field(
        description="The metric it reads, by its name in the glossary. Steps without it do not count. Those of eval/ "
        "are read at each evaluation."
    )
    limit: float = Field(0.0, description="How far is too far; what it multiplies or is added to depends on the kind.")
    steps: int = Field(3, ge=1, le=10_000, description="Breached readings in a row before it speaks. 1: at once.")
    recovery: int = Field(
        0, ge=0, le=10_000, description="Good readings in a row until it may speak again; 0: as many as `steps`."
    )
    cooldown: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Readings after an alert in which it raises no other; trouble that outlasts them is told then. 0: "
        "none. More spare you a rule that flaps.",
    )
    mean_over: int = Field(
        1,
        ge=1,
        le=1000,
        description="below, above, falls, rises, gains: judge the mean of the last so many values, from when there are "
        "so many.",
    )
    window: int = Field(10, ge=2, le=1000, description="Readings that falls_from_best, spike and z_score look back on.")
    baseline: int = Field(
        10, ge=1, le=1000, description="First readings that the baseline is the mean of; they raise nothing."
    )
    floor: float = Field(
        0.0,
        ge=0,
        description="Smallest baseline or best that a fall is judged from, and for z_score the smallest difference "
        "that counts. 0: any.",
    )
    holding: str = Field("", description="template_collapse: the metric that must not have fallen as well.")
    holding_limit: float = Field(
        0.5, ge=0, le=10, description="template_collapse: `holding` holds at this share of its own baseline or more."
    )
    among: tuple[str, ...] = Field((), description="agreement: names of the rules that are counted.")
    severity: Severity = Field("warn", description="watch, warn, critical or dead: how far down the ladder it is.")
    action: Literal["by_severity"] | Action = Field(
        "by_severity",
        description="What happens besides the alert: nothing (notify), a checkpoint, a pause, or the end of the run "
        "(stop). fork ends it as well, and the site makes the steps that are left from the last checkpoint before the "
        "trouble: once a run, at most checkpoint.restarts times in a line. by_severity: as the section says for it.",
    )
    subject: str = Field("", max_length=120, description="Begins the message; the metric's title when empty.")
    advice: str = Field("", max_length=500, description="Ends the message: what to do.")

    @model_validator(mode="after")
    def _check(self) -> RuleConfig:
        bounds = LIMITS[self.kind]
        if not bounds.low < self.limit < bounds.high:
            raise ValueError(
                f"limit: {self.limit:g} makes no sense for {self.kind}. Give a number above {bounds.low:g} and below "
                f"{bounds.high:g}."
            )
        for metric in filter(None, (self.metric, self.holding)):
            _check_metric(metric)
        if self.mean_over > 1 and self.kind not in SMOOTHED:
            raise ValueError(f"mean_over: {self.kind} judges no mean. Use 1, or one of {', '.join(SMOOTHED)}.")
        if self.kind in OF_STEPS and any(one.startswith(HELD_OUT) for one in (self.metric, self.holding)):
            raise ValueError(f"metric: {self.kind} reads training steps, and no {HELD_OUT} metric comes with one.")
        if bool(self.holding) != (self.kind == "template_collapse"):
            raise ValueError("holding: template_collapse needs a metric that holds, and no other kind has one.")
        if bool(self.among) != (self.kind == "agreement"):
            raise ValueError("among: agreement counts the rules named here, and no other kind has any.")
        if self.kind == "agreement" and self.limit > len(self.among):
            raise ValueError(f"limit: {self.limit:g} of {len(self.among)} rules can never fire. Lower it.")
        return self


def _check_metric(name: str) -> None:
    if "no entry" in describe(name).meaning:
        raise ValueError(f"metric: there is no metric {name!r}. Use a name of the glossary, such as rollout/success.")


def check_together(rules: Sequence[RuleConfig]) -> None:
    """`ValueError` when names repeat, or an agreement counts a rule that is not there or counts itself."""
    names = [rule.name for rule in rules]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"rules: several are called {repeated[0]}. Give each a name of its own.")
    countable = {rule.name for rule in rules if rule.kind != "agreement"}
    for rule in rules:
        if unknown := [name for name in rule.among if name not in countable]:
            raise ValueError(
                f"rules: {rule.name} counts {unknown[0]}, which is no rule, or an agreement itself. Use some of: "
                f"{', '.join(sorted(countable))}."
            )
