"""Alert rules as data: one class per kind, with the fields that it reads; `RuleConfig` is their union. No torch.

What each kind compares is in `rules`, `history_rules` and `joint_rules`; the default rules are in `default_rules`. A
new kind adds its class here and its rule to `detectors.KINDS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple, cast

from pydantic import AfterValidator, Field, TypeAdapter, model_validator

from engine.diagnostics.held_out import AREA as HELD_OUT
from engine.metrics import describe
from engine.section import Section, union_variants
from engine.verdict.types import Severity

Action = Literal["notify", "checkpoint", "pause", "stop", "fork"]
RuleAction = Literal["by_severity", Action]


def _known(metric: str) -> str:
    if "no entry" in describe(metric).meaning:
        raise ValueError(f"there is no metric {metric!r}. Use a name of the glossary, such as rollout/success.")
    return metric


def _of_training(metric: str) -> str:
    if metric.startswith(HELD_OUT):
        raise ValueError(f"this kind reads training steps, which have no {HELD_OUT} metrics. Choose another.")
    return metric


def _held_out_success(metric: str) -> str:
    if not (metric.startswith(HELD_OUT) and metric.endswith("/success")):
        raise ValueError("this kind reads held-out success. Use eval/success, or eval/<tag>/success of an environment.")
    return metric


Metric = Annotated[str, AfterValidator(_known)]
HeldOutSuccess = Annotated[Metric, AfterValidator(_held_out_success)]
TrainingMetric = Annotated[Metric, AfterValidator(_of_training)]
Share = Annotated[float, Field(gt=0, lt=1)]
Factor = Annotated[float, Field(gt=1)]

METRIC_HELP = (
    "Metric that it reads, by its name in the glossary. Steps without it are skipped. eval/ metrics are read at each "
    "evaluation."
)
TRAINING_METRIC_HELP = "Metric of training steps that it reads, by its name in the glossary."


class RuleBase(Section):
    """Fields of every kind. A rule fires after `steps` breached readings in a row.

    It is resolved after `recovery` readings in a row that are not breached.
    """

    condition: ClassVar[str]  # of the kind, after the metric's name: "below {limit}"

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,59}$", description="Unique short name of the rule.")
    kind: str
    metric: Metric = Field(description=METRIC_HELP)
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
        description="Readings after an alert in which the rule raises no other; an incident that lasts longer is "
        "reported again then. 0: none. More readings silence a flapping rule.",
    )
    severity: Severity = Field("warn", description="watch, warn, critical or dead.")
    action: RuleAction = Field(
        "by_severity",
        description="Action with the alert: notify only, checkpoint, pause or stop the run. fork stops it too, and the "
        "site launches a fork for the remaining steps from the last checkpoint before the incident: once per run, at "
        "most checkpoint.restarts times in a row. by_severity: the action of the severity.",
    )
    subject: str = Field("", max_length=120, description="Start of the message; the metric's title if left blank.")
    advice: str = Field("", max_length=500, description="End of the message: what to do.")

    def threshold(self, reference: float) -> float | None:
        """The limit on the metric's own axis, given what the rule compares with; None for kinds that have none."""
        return None


class Bounds(NamedTuple):
    """The range of `limit`, both ends excluded."""

    low: float
    high: float


class LimitRule(RuleBase):
    """Each kind says what its limit is, and its range."""

    limit: float

    @classmethod
    def bounds(cls) -> Bounds:
        constraints = cls.model_fields["limit"].metadata
        low = (one.gt for one in constraints if getattr(one, "gt", None) is not None)
        high = (one.lt for one in constraints if getattr(one, "lt", None) is not None)
        return Bounds(next(low, float("-inf")), next(high, float("inf")))


class SmoothedRule(RuleBase):
    mean_over: int = Field(1, ge=1, le=1000, description="Compare the mean of this many last values.")


class BaselineRule(LimitRule):
    baseline: int = Field(
        10, ge=1, le=1000, description="Number of first readings, whose mean is the baseline; they raise no alert."
    )


class FloorRule(RuleBase):
    floor: float = Field(0.0, ge=0, description="Smallest baseline that the metric is compared with. 0: any.")


class WindowRule(LimitRule):
    window: int = Field(10, ge=2, le=1000, description="Readings in the window.")


class FixedRule(SmoothedRule, LimitRule):
    limit: float = Field(description="Limit that the metric is compared with.")

    def threshold(self, reference: float) -> float | None:
        return self.limit


class ScaledRule(LimitRule):
    """`limit` is a factor of what the metric is compared with."""

    def threshold(self, reference: float) -> float | None:
        return reference * self.limit


class BelowConfig(FixedRule):
    """Below the limit."""

    condition = "below {limit}"
    kind: Literal["below"] = "below"


class AboveConfig(FixedRule):
    """Above the limit."""

    condition = "above {limit}"
    kind: Literal["above"] = "above"


class FallsConfig(SmoothedRule, ScaledRule, BaselineRule, FloorRule):
    """Below the limit times the baseline, the mean of the first readings."""

    condition = "below {limit} × its baseline"
    kind: Literal["falls"] = "falls"
    limit: Share = Field(description="Share of the baseline.")


class RisesConfig(SmoothedRule, ScaledRule, BaselineRule, FloorRule):
    """Above the limit times the baseline, the mean of the first readings."""

    condition = "above {limit} × its baseline"
    kind: Literal["rises"] = "rises"
    limit: Factor = Field(description="Multiple of the baseline.")


class GainsConfig(SmoothedRule, BaselineRule):
    """Above the baseline, the mean of the first readings, by more than the limit."""

    condition = "{limit} above its baseline"
    kind: Literal["gains"] = "gains"
    limit: float = Field(gt=0, description="Difference from the baseline.")

    def threshold(self, reference: float) -> float | None:
        return reference + self.limit


class FallsFromBestConfig(SmoothedRule, ScaledRule, WindowRule, FloorRule):
    """Below the limit times the best mean of a window of readings; of fewer while there are no more."""

    condition = "below {limit} × its best"
    kind: Literal["falls_from_best"] = "falls_from_best"
    limit: Share = Field(description="Share of the best mean.")
    window: int = Field(10, ge=1, le=1000, description="Readings in a row over which the best mean is taken.")
    floor: float = Field(0.0, ge=0, description="Smallest best mean from which a fall counts. 0: any.")
    beyond_noise: bool = Field(
        False,
        description="For a rate: only falls whose 99% interval is below 0 count, with the groups of a step as "
        "trials. For a best of fewer readings than the window the level is adjusted for the number of readings. "
        "On steps that do not report their groups, all falls count.",
    )


class FallsSignificantlyConfig(RuleBase):
    """Held-out success whose difference from the best or the first evaluation has a 95% interval below 0."""

    condition = "significantly below its best"
    kind: Literal["falls_significantly"] = "falls_significantly"
    metric: HeldOutSuccess = Field("eval/success", description="eval/success, or eval/<tag>/success.")


class SpikeConfig(ScaledRule, WindowRule):
    """Above the limit times the median of the window of readings before."""

    condition = "above {limit} × its median"
    kind: Literal["spike"] = "spike"
    limit: Factor = Field(description="Multiple of the median.")


class ZScoreConfig(WindowRule, FloorRule):
    """More than so many standard deviations from the mean of the window of readings before."""

    condition = "{limit} std from its mean"
    kind: Literal["z_score"] = "z_score"
    limit: float = Field(gt=0, description="Number of standard deviations.")
    floor: float = Field(0.0, ge=0, description="Smallest difference from the mean that counts. 0: any.")


class RewardStdCollapsedConfig(ScaledRule, BaselineRule, FloorRule):
    """Like falls, with severity watch while success holds: the problems may be solved."""

    condition = "below {limit} × its baseline"
    kind: Literal["reward_std_collapsed"] = "reward_std_collapsed"
    metric: TrainingMetric = Field(description=TRAINING_METRIC_HELP)
    limit: Share = Field(description="Share of the baseline.")


class NoSignalConfig(RuleBase):
    """No trajectory succeeded, and returns within every group are equal."""

    condition = "no success and equal returns"
    kind: Literal["no_signal"] = "no_signal"
    metric: TrainingMetric = Field(description=TRAINING_METRIC_HELP)


class TemplateCollapseConfig(ScaledRule, BaselineRule, FloorRule):
    """Like falls, while the metric under holding has not fallen."""

    condition = "below {limit} × its baseline while entropy holds"
    kind: Literal["template_collapse"] = "template_collapse"
    metric: TrainingMetric = Field(description=TRAINING_METRIC_HELP)
    limit: Share = Field(description="Share of the baseline.")
    holding: TrainingMetric = Field(description="Metric of training steps that must not have fallen as well.")
    holding_limit: float = Field(0.5, ge=0, le=10, description="Share of its own baseline that `holding` must keep.")


class AgreementConfig(LimitRule):
    """At least so many of the rules named under among fire at once."""

    condition = "{limit} other rules fire"
    kind: Literal["agreement"] = "agreement"
    limit: float = Field(gt=1, description="Number of rules that must fire at once.")
    among: tuple[str, ...] = Field(min_length=1, description="Names of the rules that count.")

    @model_validator(mode="after")
    def _can_fire(self) -> AgreementConfig:
        if self.limit > len(self.among):
            raise ValueError(f"limit: {self.limit:g} of {len(self.among)} rules can never fire. Lower the limit.")
        return self


RuleConfig = Annotated[
    BelowConfig
    | AboveConfig
    | FallsConfig
    | RisesConfig
    | GainsConfig
    | FallsFromBestConfig
    | FallsSignificantlyConfig
    | SpikeConfig
    | ZScoreConfig
    | RewardStdCollapsedConfig
    | NoSignalConfig
    | TemplateCollapseConfig
    | AgreementConfig,
    Field(discriminator="kind", description="The condition; the other fields depend on it."),
]
RULE_CONFIGS = cast("dict[str, type[RuleBase]]", union_variants(RuleConfig))
RULE: TypeAdapter[RuleConfig] = TypeAdapter(RuleConfig)


def check_together(rules: Sequence[RuleConfig]) -> None:
    """`ValueError` for repeated names, and for agreements on rules that do not exist or are agreements."""
    names = [rule.name for rule in rules]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"rules: several are named {repeated[0]}. Give each a unique name.")
    agreements = [rule for rule in rules if isinstance(rule, AgreementConfig)]
    countable = set(names) - {rule.name for rule in agreements}
    for rule in agreements:
        if unknown := [name for name in rule.among if name not in countable]:
            raise ValueError(
                f"rules: {rule.name} counts {unknown[0]}, which is not a rule, or is an agreement. Use some of: "
                f"{', '.join(sorted(countable))}."
            )
