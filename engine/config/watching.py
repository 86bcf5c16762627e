"""Settings of diagnostics, evaluation, checkpoints, recorded trajectories, early stops and alerts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from engine.diagnostics.default_rules import DEFAULT_RULES
from engine.diagnostics.rule_config import Action, RuleConfig, check_together
from engine.section import Section
from engine.verdict.types import Severity

Background = Literal["auto", "always", "never"]


class DiagnosticsConfig(Section):
    every: int = Field(5, ge=0, le=10_000, description="Steps between collapse diagnostics. 0 turns them off.")
    reasonings: int = Field(
        32, ge=2, le=4096, description="Thoughts scored per diagnosis (M). More are less noisy and cost more."
    )
    prompts: int = Field(
        8,
        ge=2,
        le=1024,
        description="first_turn: prompts that thoughts are scored against (N). Mutual information is at most ln N. In "
        "the trajectory form each thought brings its own context.",
    )
    form: Literal["first_turn", "trajectory"] = Field(
        "first_turn",
        description="first_turn: thoughts of the first turn (cheap, comparable over a run). trajectory: thoughts of "
        "any turn with their full context; N is then about M, so the cost grows with M squared.",
    )
    template_similarity: float = Field(
        0.92,
        ge=0,
        le=1,
        description="Thoughts on different prompts that share at least this share of words count as one template. 1: "
        "identical. 0 turns template detection off.",
    )
    gradients_every: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Steps between gradient decompositions (task, entropy and KL by reward std). 0 turns them off. "
        "Each takes the time of about three updates, and holds a gradient of each term besides, with 4 bytes per "
        "trained weight.",
    )
    gradient_buckets: int = Field(
        6, ge=1, le=64, description="Buckets of groups, by the standard deviation of their returns."
    )
    gradient_borders: Literal["quantile", "fixed"] = Field(
        "quantile",
        description="quantile: each bucket holds the same number of groups. fixed: bucket edges at multiples of "
        "gradient_width, the same at every step; the last bucket is open.",
    )
    gradient_width: float = Field(
        0.1, gt=0, le=1e6, description="fixed: width of a bucket, in standard deviation of returns."
    )


class EvaluationConfig(Section):
    every: int = Field(
        10, ge=0, le=100_000, description="Steps between held-out evaluations. 0: only after the last step."
    )
    at_start: bool = Field(True, description="Evaluate before the first update as well.")
    episodes: int = Field(128, ge=1, le=100_000, description="Held-out problems per evaluation, one episode each.")
    final_episodes: int = Field(
        256, ge=1, le=100_000, description="Held-out problems of the evaluation after the last step."
    )
    episodes_at_once: int = Field(
        0,
        ge=0,
        le=100_000,
        description="Held-out episodes sampled at a time, each with its own space in the key-value cache. Fewer use "
        "less memory but take longer. 0: all.",
    )
    temperature: float = Field(1.0, ge=0, le=5, description="Sampling temperature in evaluation. 0 is greedy.")
    weights: Literal["current", "ema"] = Field(
        "current",
        description="Which weights are evaluated. current: those that are trained. ema: their moving average, which "
        "needs optimizer.ema_decay.",
    )
    first_seed: int = Field(
        1_000_000_000,
        ge=1_000_000_000,
        le=2_000_000_000,
        description="Seed of the first held-out problem. Held-out problems are a fifth of all problems, chosen by "
        "their hash, or a separate list, so none is trained on.",
    )


class CheckpointConfig(Section):
    every: int = Field(20, ge=0, le=100_000, description="Steps between checkpoints. 0: only after the last step.")
    keep: int = Field(
        3,
        ge=1,
        le=1000,
        description="Number of checkpoints kept, newest first. The best by held-out success and the last one before "
        "each sign of trouble are kept as well.",
    )
    background: Background = Field(
        "auto",
        description="Whether training continues while a checkpoint is written. It then stops only to copy weights and "
        "optimizer state to main memory. auto: for models of more than 50 million parameters, if main memory has room "
        "for the copy.",
    )
    restarts: int = Field(
        3,
        ge=0,
        le=100,
        description="Automatic restarts from the newest checkpoint after a retryable failure: a killed engine, a lost "
        "node, a hung phase. 0: never. Also the limit of consecutive forks by alert rules.",
    )

    @property
    def most_unsaved(self) -> int:
        """Steps that can be made before the first checkpoint is complete. One that is written in the background is
        waited for before the next."""
        return self.every if self.background == "never" else 2 * self.every


class CaptureConfig(Section):
    """Which trajectories are recorded. The rule is in `engine.rollout.capture`."""

    every: int = Field(1, ge=0, le=10_000, description="Steps between recorded steps. 0: record none.")
    most_per_step: int = Field(
        0,
        ge=0,
        le=100_000,
        description="Trajectories recorded per step. 0: all. The best, the worst and one of each group with equal "
        "returns, a failure or a malformed response are recorded even beyond this limit. A tenth of the limit is "
        "drawn at random; the rest completes those groups, then random ones.",
    )
    keep_steps: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="Recorded steps kept on disk, newest first; training and held-out steps are counted separately. "
        "0: all.",
    )
    most_megabytes: int = Field(
        0,
        ge=0,
        le=10_000_000,
        description="Disk space for recorded trajectories, in MB. Above it the oldest steps are removed, never the "
        "newest. 0: no limit.",
    )


class StopConfig(Section):
    collapsed_after: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Stop as collapsed after this many steps without any success and with equal returns and penalties "
        "in every group. 0: never.",
    )
    empty_filter_after: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Stop after this many consecutive steps in which the filter kept no group. 0: never.",
    )
    fault_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Fail when more than this share of the episodes of a step, or of an evaluation, end because their "
        "environment failed. 0: at the first such episode. 1: only when all do.",
    )


class DetectorsConfig(Section):
    """Alert rules, and the action after an alert of each severity."""

    watch_action: Action = Field(
        "notify", description="Action after an alert of severity watch: notify, checkpoint, pause, stop or fork."
    )
    warn_action: Action = Field(
        "notify",
        description="Action after an alert of severity warn. checkpoint saves the last good weights: few runs recover.",
    )
    critical_action: Action = Field(
        "notify",
        description="Action after an alert of severity critical. A paused run is resumed on its page, or from a shell "
        "by a control.json that requests run.",
    )
    dead_action: Action = Field(
        "notify",
        description="Action when nothing can be learned any more. stop frees the machine; fork restarts from a "
        "checkpoint before the problem.",
    )
    rules: tuple[RuleConfig, ...] = Field(
        DEFAULT_RULES,
        max_length=100,
        description="Alert rules of the run. A list given here replaces the default rules as a whole.",
    )

    @model_validator(mode="after")
    def _check_rules(self) -> DetectorsConfig:
        check_together(self.rules)
        return self

    def action_of(self, rule: RuleConfig, severity: Severity) -> Action:
        """The action after an alert of the rule, whose severity may be lower than the rule's own."""
        by_severity: dict[Severity, Action] = {
            "watch": self.watch_action,
            "warn": self.warn_action,
            "critical": self.critical_action,
            "dead": self.dead_action,
        }
        return by_severity[severity] if rule.action == "by_severity" else rule.action
