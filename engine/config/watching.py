"""What is measured, kept and watched for while a run goes on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from engine.diagnostics.default_rules import DEFAULT_RULES
from engine.diagnostics.rule_config import Action, RuleConfig, check_together
from engine.events import Severity
from engine.section import Section


class DiagnosticsConfig(Section):
    every: int = Field(5, ge=0, le=10_000, description="Steps between collapse diagnostics; 0 turns them off.")
    reasonings: int = Field(32, ge=2, le=4096, description="Thoughts scored (M). More are steadier and cost more.")
    prompts: int = Field(
        8,
        ge=2,
        le=1024,
        description="first_turn: prompts they are scored under (N). The ceiling of MI is ln N. In the trajectory form "
        "every thought brings its own context.",
    )
    form: Literal["first_turn", "trajectory"] = Field(
        "first_turn",
        description="Which thoughts: first_turn, those on the first prompts (cheap, and comparable through a run); or "
        "trajectory, of any turn on all it has seen. There N is about M, so the cost grows with M squared.",
    )
    template_similarity: float = Field(
        0.92,
        ge=0,
        le=1,
        description="Thoughts on different prompts with this share of words in common are one template. 1: word for "
        "word. 0 does not look for templates.",
    )
    gradients_every: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Steps between gradient decompositions (task, entropy, KL by reward spread); 0 turns them off. One "
        "costs about as much as an update for each of the three.",
    )
    gradient_buckets: int = Field(
        6, ge=1, le=64, description="Groups are sorted into so many buckets by the spread of their returns."
    )
    gradient_borders: Literal["quantile", "fixed"] = Field(
        "quantile",
        description="quantile: buckets hold equally many groups. fixed: borders at multiples of gradient_width, which "
        "stay where they are from step to step; the last bucket is open.",
    )
    gradient_width: float = Field(
        0.1, gt=0, le=1e6, description="fixed: width of a bucket in units of return (standard deviation)."
    )


class EvaluationConfig(Section):
    every: int = Field(10, ge=0, le=100_000, description="Steps between evaluations; 0: only the last step.")
    at_start: bool = Field(True, description="Evaluate before the first update.")
    episodes: int = Field(128, ge=1, le=100_000, description="Held-out problems, one episode each.")
    final_episodes: int = Field(256, ge=1, le=100_000, description="Held-out problems after the last step.")
    temperature: float = Field(1.0, ge=0, le=5, description="Of sampling in evaluation; 0 is greedy.")
    first_seed: int = Field(
        1_000_000_000,
        ge=1_000_000_000,
        le=2_000_000_000,
        description="Seed of the first held-out problem. Training seeds stay below 1,000,000,000, so none is shared.",
    )


class CheckpointConfig(Section):
    every: int = Field(20, ge=0, le=100_000, description="Steps between checkpoints; 0: only the last step.")
    keep: int = Field(3, ge=1, le=1000, description="Newest checkpoints kept.")
    restarts: int = Field(
        3,
        ge=0,
        le=100,
        description="Times that a run of the site goes on by itself from its newest checkpoint, after a fault that a "
        "fresh start can mend: a killed engine, a lost node, a phase that hangs. 0: never. As many forks that alert "
        "rules ask for follow one another at most.",
    )


class CaptureConfig(Section):
    """What of each step is kept to be read. `engine.rollout.capture` has the rule."""

    every: int = Field(1, ge=0, le=10_000, description="Steps between recorded steps; 0: none.")
    most_per_step: int = Field(
        0,
        ge=0,
        le=100_000,
        description="Trajectories kept of a recorded step; 0: all. The best, the worst and one of each group with "
        "equal returns, a fault or an unparsed response are kept even above it, and a tenth of it by lot; what is left "
        "makes such groups whole, and then takes groups by lot.",
    )
    keep_steps: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="Newest recorded steps kept on disk, training and held-out ones counted apart; older are removed. "
        "0: all.",
    )
    most_megabytes: int = Field(
        0,
        ge=0,
        le=10_000_000,
        description="Disk that recorded trajectories may take, in MB. Above it the oldest steps are removed, never the "
        "newest. 0: no limit.",
    )


class StopConfig(Section):
    collapsed_after: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Stop as collapsed after this many steps with zero training success and no spread "
        "of returns or penalties in any group; 0 never stops.",
    )
    empty_filter_after: int = Field(
        0, ge=0, le=10_000, description="Stop after this many steps in a row in which the filter kept nothing; 0 never."
    )


class DetectorsConfig(Section):
    """The rules that raise alerts, and what follows an alert of each severity."""

    watch_action: Action = Field(
        "notify", description="After an alert to watch: notify, checkpoint, pause, stop or fork."
    )
    warn_action: Action = Field(
        "notify", description="After a warning. checkpoint keeps the last good weights: few runs recover."
    )
    critical_action: Action = Field(
        "notify",
        description="After a critical alert. pause lets you look first; go on from the run's page, or by a "
        'control.json with {"request": "run"}.',
    )
    dead_action: Action = Field(
        "notify",
        description="When nothing can be learned any more. stop saves the machine; fork goes on from before it.",
    )
    rules: tuple[RuleConfig, ...] = Field(
        DEFAULT_RULES, max_length=100, description="All rules of the run; naming any replaces the whole list."
    )

    @model_validator(mode="after")
    def _check_rules(self) -> DetectorsConfig:
        check_together(self.rules)
        return self

    def action_of(self, rule: RuleConfig, severity: Severity) -> Action:
        """What follows an alert of the rule, which may be of less severity than the rule's own."""
        by_severity: dict[Severity, Action] = {
            "watch": self.watch_action,
            "warn": self.warn_action,
            "critical": self.critical_action,
            "dead": self.dead_action,
        }
        return by_severity[severity] if rule.action == "by_severity" else rule.action
