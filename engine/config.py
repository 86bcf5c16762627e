"""`RunConfig`: everything that decides a run, checked before it starts. No torch here.

The web form, the TOML file and the JSON of a run directory are this one class. Each field says what it
means, in which unit, and what the extremes do: the form shows that text.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from engine.diagnostics.default_rules import DEFAULT_RULES
from engine.diagnostics.rule_config import Action, RuleConfig, check_together
from engine.environments import environment_class
from engine.errors import ConfigError
from engine.events import Severity


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EnvironmentConfig(Section):
    """One environment of a run: its kind and parameters, its words, its budgets."""

    kind: str = Field("frozen_lake", description="Which environment: a kind of the registry.")
    tag: str = Field("", max_length=60, description="Name in metrics and tables; the kind's title when empty.")
    groups: int = Field(
        0,
        ge=0,
        le=4096,
        description="Its puzzles per step, out of rollout.groups. 0 is an even share of what the others leave.",
    )
    parameters: dict[str, Any] = Field(default_factory=dict, description="The kind's own parameters.")
    instruction: str = Field(
        "", max_length=4000, description="What the model is told to do; the kind's own words when empty."
    )
    max_turns: int = Field(5, ge=1, le=200, description="Replies per trajectory. More reach further and cost more.")
    max_actions_per_turn: int = Field(
        2, ge=1, le=50, description="Actions read from one reply; the rest are ignored and counted."
    )
    max_actions: int = Field(10, ge=1, le=2000, description="Actions per trajectory, over all turns.")
    max_reply_tokens: int = Field(
        40, ge=4, le=32768, description="Tokens sampled per turn at most. Too few cut replies before their answer."
    )
    format_penalty: float = Field(
        -0.1,
        ge=-100,
        le=0,
        description="Added to the score for each turn whose reply is malformed or names an "
        "unknown action. 0 turns it off; the model is never shown it.",
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_from_kind(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        try:
            kind = environment_class(str(data.get("kind", "frozen_lake")))
        except ConfigError as error:
            raise ValueError(str(error)) from None
        filled = {**kind.default_budget, **data}
        filled["tag"] = data.get("tag") or kind.title
        filled["instruction"] = data.get("instruction") or kind.default_instruction
        return filled

    @model_validator(mode="after")
    def _check_parameters(self) -> EnvironmentConfig:
        kind = environment_class(self.kind)
        try:
            kind.Config(**self.parameters)
        except ValidationError as error:
            problems = (f"parameters.{field}: {reason}" for field, reason in problems_by_field(error))
            raise ValueError("; ".join(problems)) from None
        return self


class LoraSection(Section):
    rank: int = Field(
        0,
        ge=0,
        le=1024,
        description="LoRA: rank of the update that is trained in place of the weights. 0 trains all weights; 8 to 64 "
        "are usual. Higher learns more and takes more memory.",
    )
    alpha: float = Field(
        32.0, gt=0, le=10_000, description="LoRA: the update is scaled by alpha / rank. Higher is a larger step."
    )
    targets: str = Field(
        "all-linear",
        pattern=r"^[\w.-]+(\s*,\s*[\w.-]+)*$",
        max_length=500,
        description="LoRA: layers that have an update: all-linear, or names such as q_proj,v_proj.",
    )


class ModelConfig(Section):
    path: str = Field(
        "tiny",
        min_length=1,
        max_length=500,
        description="`tiny` (the model that ships), a directory with a Hugging Face language model, or a hub id.",
    )
    lora: LoraSection = LoraSection()


class RolloutConfig(Section):
    groups: int = Field(
        16, ge=1, le=4096, description="Different puzzles per step (P). More make the gradient steadier."
    )
    group_size: int = Field(
        8, ge=1, le=1024, description="Trajectories per puzzle (G). At 1 group-relative advantages carry no signal."
    )
    temperature: float = Field(1.0, gt=0, le=5, description="Of sampling in training. Lower explores less.")
    context: Literal["full", "last_k_turns", "single_turn_summary"] = Field(
        "full",
        description="What the model sees of earlier turns: full, all of them; last_k_turns, the last ones word for "
        "word; single_turn_summary, a list of states, actions and rewards in place of its own words.",
    )
    context_turns: int = Field(
        0,
        ge=0,
        le=200,
        description="Turns that a window shows, the present one counted; at 1 it shows no earlier one. "
        "single_turn_summary tells of all turns at 0. More see further and cost more; full takes none.",
    )
    max_context_tokens: int = Field(
        1024,
        ge=32,
        le=1_000_000,
        description="Tokens that the model sees at once, its reply counted: under the full context the whole "
        "trajectory. A trajectory that would pass it, or the model's own limit if lower, ends and says so.",
    )
    refill: int = Field(
        0,
        ge=0,
        le=20,
        description="Groups whose returns are all equal are followed by groups of fresh puzzles, and those again, up "
        "to so many times a step (DAPO's dynamic sampling). 0 never; more cost rollout time and fill every update. "
        "Needs a filter that drops the equal ones.",
    )
    think: bool = Field(True, description="Ask for <think>…</think> before the answer.")

    @model_validator(mode="after")
    def _check_context(self) -> RolloutConfig:
        if self.context == "full" and self.context_turns:
            raise ValueError(
                f"context_turns: the full context shows all turns, so {self.context_turns} would change nothing. "
                "Leave it at 0, or choose last_k_turns or single_turn_summary."
            )
        if self.context == "last_k_turns" and not self.context_turns:
            raise ValueError(
                "context_turns: last_k_turns needs the number of turns to show. "
                "Give 1 (the present turn alone) or more, or choose the full context."
            )
        return self


Estimator = Literal[
    "grpo", "dr_grpo", "rloo", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "gae", "bi_level_gae", "remax"
]
WITH_CRITIC = frozenset({"gae", "bi_level_gae"})
WITHIN_GROUP = frozenset({"grpo", "dr_grpo", "rloo", "reinforce_plus_plus_baseline"})


class AlgorithmConfig(Section):
    estimator: Estimator = Field(
        "grpo",
        description="Advantages. Against the group, no critic: grpo; dr_grpo (not divided by the spread); rloo (the "
        "mean of the others); reinforce_plus_plus_baseline (evened over the batch). reinforce_plus_plus: evened over "
        "the batch alone. remax: against a greedy episode of the puzzle, "
        "which costs rollout. With a critic: gae (PPO); bi_level_gae (turns first, then the tokens of each).",
    )
    scale_by_std: bool = Field(True, description="grpo: divide by the group's standard deviation. Off is dr_grpo.")
    gamma: float = Field(
        1.0, ge=0, le=1, description="gae, reinforce_plus_plus: discount per token. Below 1 favours early reward."
    )
    lam: float = Field(1.0, ge=0, le=1, description="gae: lambda. 1 is unbiased and noisy, 0 trusts the critic.")
    high_level_gamma: float = Field(
        0.95,
        ge=0,
        le=1,
        description="bi_level_gae: discount per turn, whatever its length. 1 looks as far as gae does; 0 leaves "
        "every turn to its own reward.",
    )
    credit: Literal["trajectory", "turn"] = Field(
        "trajectory",
        description="Where reward lies. trajectory: all of it at its end. turn: each turn's reward and penalty "
        "at its own end; what compares within a group then compares rewards to go of the same turn.",
    )
    turn_discount: float = Field(
        1.0,
        ge=0,
        le=1,
        description="turn: discount from one turn to the next, beside gamma per token. 0 credits a turn with its own "
        "reward alone. bi_level_gae has high_level_gamma for it.",
    )
    normalize_by: Literal["none", "state", "tag", "batch"] = Field(
        "none",
        description="Scores are normalised before credit, among the trajectories of one puzzle (state), one "
        "environment (tag) or the step (batch); none leaves them. The filter reads raw returns in any case.",
    )
    normalize_method: Literal["mean", "mean_std", "asym_clip"] = Field(
        "mean_std",
        description="mean: less the mean. mean_std: over the standard deviation besides. asym_clip: mean_std kept "
        "within -1 and 3, so that rare successes count more than failures.",
    )

    kl_in_reward: float = Field(
        0.0,
        ge=0,
        le=100,
        description="Each sampled token costs this much reward per nat by which its log-probability is above the "
        "starting model's. 0 leaves it out; unlike loss.kl_coefficient it goes through the advantages.",
    )

    @model_validator(mode="after")
    def _check_credit(self) -> AlgorithmConfig:
        if self.turn_discount != 1 and self.credit == "trajectory":
            raise ValueError(
                "turn_discount: nothing is discounted by turn under trajectory credit. Set credit to turn."
            )
        if self.turn_discount != 1 and self.estimator == "bi_level_gae":
            raise ValueError("turn_discount: bi_level_gae discounts turns by high_level_gamma. Leave this one at 1.")
        if self.normalize_by != "none" and self.credit == "turn":
            raise ValueError(
                "normalize_by: it is scores of whole trajectories that are normalised, and turn credit has none. "
                "Choose none, or trajectory credit."
            )
        if self.estimator == "remax":
            self._check_remax()
        if self.estimator == "bi_level_gae" and self.kl_in_reward:
            raise ValueError(
                "kl_in_reward: bi_level_gae looks ahead from turn end to turn end and would pass over costs between. "
                "Use gae, or loss.kl_coefficient."
            )
        return self

    def _check_remax(self) -> None:
        if self.credit == "turn":
            raise ValueError(
                "credit: the greedy episode that remax compares with goes through other states than a trajectory, so "
                "turns have no counterpart in it. Choose trajectory credit."
            )
        if self.normalize_by != "none":
            raise ValueError(
                "normalize_by: normalised scores and the greedy episode's score are on two scales. Choose none."
            )
        if self.kl_in_reward:
            raise ValueError(
                "kl_in_reward: the greedy episode that remax compares with bears no such cost. Use loss.kl_coefficient."
            )

    @property
    def has_critic(self) -> bool:
        return self.estimator in WITH_CRITIC


class LossConfig(Section):
    clip_low: float = Field(0.2, gt=0, le=1, description="Ratio clip below 1 - this. Smaller steps are safer, slower.")
    clip_high: float = Field(
        0.28, gt=0, le=10, description="Ratio clip above 1 + this. Higher than clip_low keeps rare tokens alive (DAPO)."
    )
    dual_clip: float = Field(
        3.0, ge=0, le=100, description="Bound of the loss for negative advantages; 0 turns it off."
    )
    aggregation: Literal[
        "token_mean", "sequence_mean_token_sum", "sequence_mean_token_mean", "sequence_mean_token_sum_norm"
    ] = Field(
        "token_mean",
        description="How token losses become one number. token_mean: every token counts alike; "
        "sequence_mean_token_mean: every trajectory; sequence_mean_token_sum: long trajectories count more; "
        "sequence_mean_token_sum_norm: the same, divided by norm_length (Dr. GRPO).",
    )
    norm_length: int = Field(
        100,
        ge=1,
        le=1_000_000,
        description="sequence_mean_token_sum_norm: the constant, in tokens; about a long trajectory's sampled tokens. "
        "A larger one makes the loss smaller against the entropy bonus and KL.",
    )
    entropy_coefficient: float = Field(0.001, ge=0, le=10, description="Bonus for entropy. Too high breaks the format.")
    kl_coefficient: float = Field(0.0, ge=0, le=100, description="Pull to the starting model; 0 leaves it out.")
    kl_kind: Literal["k1", "k2", "k3", "k1+", "k3+"] = Field(
        "k3",
        description="Estimator of KL in the loss. k3 is low-variance; k2 has the gradient of KL itself; k1 does not "
        "pull (its expected gradient is 0); k1+ and k3+ have the values of k1 and k3 and the gradient of k2.",
    )
    value_clip: float = Field(0.5, gt=0, le=100, description="With a critic: it moves at most this far per update.")


NEVER_NEGATIVE = frozenset({"reward_variance", "entropy", "entropy_variance", "length"})


class FilterConfig(Section):
    strategy: Literal["none", "top_p", "top_k", "top_k_absolute", "min_p"] = Field(
        "none",
        description="Which groups train: all; or of the largest score (smallest without `largest`) those that hold a "
        "share of the mass (top_p), a share (top_k) or number (top_k_absolute) of groups, or those near the best "
        "(min_p).",
    )
    value: float = Field(
        0.9,
        gt=0,
        le=4096,
        description="top_p: share of the mass kept; top_k: share of groups; top_k_absolute: groups; min_p: share of "
        "the best group's score. Smaller keeps less (min_p: more).",
    )
    mode: Literal["variance", "std", "softmax"] = Field(
        "variance",
        description="top_p: what mass is. variance: squared scores. For comparison with RAGEN: std, the scores, as in "
        "its default; softmax of the scores, as in its tables, which keeps nearly all groups when scores are close.",
    )
    metric: Literal["reward_variance", "reward_mean", "reward_sum", "entropy", "entropy_variance", "length"] = Field(
        "reward_variance",
        description="Score of a group. reward_variance: standard deviation of its returns. reward_mean, reward_sum: of "
        "its returns. entropy: mean of its tokens' entropy; entropy_variance: standard deviation of its trajectories' "
        "entropy. length: mean number of sampled tokens.",
    )
    largest: bool = Field(True, description="Keep the groups with the largest score; off, those with the smallest.")
    include_zero: bool = Field(
        False, description="Keep groups of score 0 as well: by reward_variance those whose members all did the same."
    )
    epsilon: float = Field(0.01, ge=0, le=1, description="Slack of top_p; a step with less mass than this is skipped.")
    loss_scaling: Literal["none", "linear", "sqrt"] = Field(
        "none",
        description="Advantages times the share of groups kept (linear) or its square root, so that a step on few "
        "groups moves the policy less, against the same entropy bonus and KL.",
    )

    @model_validator(mode="after")
    def _check_value(self) -> FilterConfig:
        if self.strategy == "top_k_absolute" and (self.value < 1 or self.value != int(self.value)):
            raise ValueError(
                f"value: top_k_absolute keeps a number of groups, and {self.value} is none. "
                "Give 1, 2, 3 … or use top_k."
            )
        if self.strategy != "top_k_absolute" and self.value > 1:
            raise ValueError(
                f"value: {self.strategy} takes a share, and {self.value} is above 1. Give at most 1, or use "
                "top_k_absolute, which takes a number of groups."
            )
        if self.strategy in ("top_p", "min_p") and self.metric not in NEVER_NEGATIVE:
            raise ValueError(
                f"metric: {self.strategy} keeps shares of scores, and {self.metric} may be negative. "
                f"Use top_k or top_k_absolute, or one of {', '.join(sorted(NEVER_NEGATIVE))}."
            )
        return self


class OptimizerConfig(Section):
    learning_rate: float = Field(
        2e-4,
        gt=0,
        le=1,
        description="Of the policy. The small model learns near 1e-4 to 3e-4 and breaks near 1e-3; "
        "billions of parameters want 1e-6.",
    )
    critic_learning_rate: float = Field(1e-3, gt=0, le=1, description="Of the critic, where there is one.")
    weight_decay: float = Field(0.01, ge=0, le=1, description="AdamW's.")
    max_grad_norm: float = Field(
        1.0, gt=0, le=1e6, description="Gradients are clipped to this norm; the curve is before."
    )
    updates_per_step: int = Field(
        2,
        ge=1,
        le=64,
        description="Mini-batches per pass over the step's trajectories. They differ by one where it does not divide.",
    )
    epochs: int = Field(
        1,
        ge=1,
        le=16,
        description="Passes over the step's trajectories. Times updates_per_step it is the updates made of one rollout "
        "(k of online-k): at 1 in all the data are the policy's own; more learn faster and leave it behind.",
    )
    micro_batch_tokens: int = Field(
        8192,
        ge=128,
        le=10_000_000,
        description="Tokens per forward pass, padding counted; lower saves memory, same result.",
    )
    packing: bool = Field(
        False,
        description="Train on sequences one behind the other in place of rows that are padded; attention keeps them "
        "apart, so the result is the same. Pays where lengths differ much.",
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto",
        description="What the model multiplies in: float32, bfloat16 (weights and optimiser stay float32), or auto: "
        "bfloat16 on a GPU that has it. On CPUs bfloat16 is mostly slower.",
    )
    gradient_checkpointing: bool = Field(
        False,
        description="Compute activations a second time on the way back in place of keeping them: much less memory, "
        "about a third slower, same result.",
    )
    warmup_steps: int = Field(0, ge=0, le=100_000, description="Steps over which the learning rate rises from 0.")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        "constant",
        description="The policy's learning rate after the warm-up: constant, or falling to minimum_lr_ratio at the "
        "last step, in a straight line or along half a cosine. The critic's stays as it is.",
    )
    minimum_lr_ratio: float = Field(
        0.0,
        ge=0,
        le=1,
        description="linear, cosine: share of learning_rate that is left at the last step. At 0 the last updates "
        "change nothing; at 1 it never falls.",
    )
    critic_warmup_steps: int = Field(
        0, ge=0, le=1000, description="First steps that train the critic alone, where there is one."
    )

    @model_validator(mode="after")
    def _check_schedule(self) -> OptimizerConfig:
        if self.schedule == "constant" and self.minimum_lr_ratio:
            raise ValueError(
                f"minimum_lr_ratio: a constant schedule never falls, so {self.minimum_lr_ratio:g} would change "
                "nothing. Leave it at 0, or choose linear or cosine."
            )
        return self


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
    episodes: int = Field(128, ge=1, le=100_000, description="Held-out puzzles, one episode each.")
    final_episodes: int = Field(256, ge=1, le=100_000, description="Held-out puzzles after the last step.")
    temperature: float = Field(1.0, ge=0, le=5, description="Of sampling in evaluation; 0 is greedy.")
    first_seed: int = Field(
        1_000_000_000,
        ge=1_000_000_000,
        le=2_000_000_000,
        description="Seed of the first held-out puzzle. Training seeds stay below 1,000,000,000, so none is shared.",
    )


class CheckpointConfig(Section):
    every: int = Field(20, ge=0, le=100_000, description="Steps between checkpoints; 0: only the last step.")
    keep: int = Field(3, ge=1, le=1000, description="Newest checkpoints kept.")


class CaptureConfig(Section):
    every: int = Field(
        1, ge=0, le=10_000, description="Steps between recorded steps, all trajectories of each; 0: none."
    )


class StopConfig(Section):
    collapsed_after: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Stop as collapsed after this many steps with zero training success and no "
        "in-group spread; 0 never stops.",
    )
    empty_filter_after: int = Field(
        0, ge=0, le=10_000, description="Stop after this many steps in a row in which the filter kept nothing; 0 never."
    )


class DetectorsConfig(Section):
    """The rules that raise alerts, and what follows an alert of each severity."""

    watch_action: Action = Field("notify", description="After an alert to watch: notify, checkpoint, pause or stop.")
    warn_action: Action = Field(
        "notify", description="After a warning. checkpoint keeps the last good weights: few runs recover."
    )
    critical_action: Action = Field(
        "notify",
        description="After a critical alert. pause lets you look first; go on from the run's page, or by a "
        'control.json with {"request": "run"}.',
    )
    dead_action: Action = Field("notify", description="When nothing can be learned any more. stop saves the machine.")
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


TRAINING_SEED_LIMIT = 1_000_000_000


class RunConfig(Section):
    """One run. `RunConfig()` is a good choice: GRPO on FrozenLake with the model that ships."""

    preset: str = Field("custom", max_length=60, description="The preset it started from; a label.")
    description: str = Field("", max_length=2000, description="What this run is for.")
    seed: int = Field(1, ge=0, lt=1_000_000, description="Decides puzzles, sampling and shuffling.")
    steps: int = Field(60, ge=1, le=1_000_000, description="Training steps.")
    backend: Literal["local"] = Field("local", description="Where it runs: this machine, CPU or one GPU.")
    threads: int = Field(0, ge=0, le=512, description="CPU threads of the engine; 0 takes all cores.")
    environments: list[EnvironmentConfig] = Field(
        default_factory=lambda: [EnvironmentConfig.model_validate({})],
        min_length=1,
        max_length=16,
        description="What it trains on. Each may have groups of its own; the others share the rest evenly.",
    )
    model: ModelConfig = ModelConfig()
    rollout: RolloutConfig = RolloutConfig()
    algorithm: AlgorithmConfig = AlgorithmConfig()
    loss: LossConfig = LossConfig()
    filter: FilterConfig = FilterConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    diagnostics: DiagnosticsConfig = DiagnosticsConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    capture: CaptureConfig = CaptureConfig()
    stop: StopConfig = StopConfig()
    detectors: DetectorsConfig = DetectorsConfig()

    @model_validator(mode="after")
    def _check_across_sections(self) -> RunConfig:
        tags = [e.tag for e in self.environments]
        if len(set(tags)) != len(tags):
            raise ValueError(f"environments: tags must differ, got {', '.join(tags)}. Give each its own tag.")
        group_shares(self.environments, self.rollout.groups)
        if self.algorithm.estimator in WITHIN_GROUP and self.rollout.group_size < 2:
            raise ValueError(
                f"rollout.group_size: groups of one have no signal under {self.algorithm.estimator}. "
                "Use 2 or more, or gae."
            )
        self._check_refill()
        if self.steps * self.rollout.groups * (1 + self.rollout.refill) > TRAINING_SEED_LIMIT:
            raise ValueError("steps: so many steps would run out of training seeds. Lower steps or rollout.groups.")
        trajectories = self.rollout.groups * self.rollout.group_size
        if self.optimizer.updates_per_step > trajectories:
            raise ValueError(
                f"optimizer.updates_per_step: a step of {self.rollout.groups} groups of {self.rollout.group_size} has "
                f"{trajectories} trajectories, too few for {self.optimizer.updates_per_step} mini-batches. "
                f"Use {trajectories} or fewer."
            )
        if self.optimizer.schedule != "constant" and self.optimizer.warmup_steps >= self.steps:
            raise ValueError(
                f"optimizer.warmup_steps: {self.optimizer.warmup_steps} of {self.steps} steps leave the "
                f"{self.optimizer.schedule} schedule no step to fall in. Lower it, or use the constant schedule."
            )
        for environment in self.environments:
            if environment.max_reply_tokens >= self.rollout.max_context_tokens:
                raise ValueError(
                    f"rollout.max_context_tokens: {self.rollout.max_context_tokens} leaves no room for a prompt before "
                    f"a reply of up to {environment.max_reply_tokens} tokens. Raise it or lower max_reply_tokens."
                )
        return self

    def _check_refill(self) -> None:
        if not self.rollout.refill:
            return
        drops = self.filter.strategy != "none" and self.filter.metric == "reward_variance"
        if not drops or self.filter.include_zero:
            raise ValueError(
                "rollout.refill: the groups that it makes up for would train as well. Set filter.strategy to top_p "
                "with filter.value 1 (drops exactly those), filter.metric to reward_variance, and "
                "filter.include_zero to false."
            )
        if self.rollout.group_size < 2:
            raise ValueError("rollout.refill: groups of one never differ. Use a group_size of 2 or more, or refill 0.")


def group_shares(environments: list[EnvironmentConfig], groups: int) -> list[int]:
    """How many of a step's `groups` each environment has, in order; `ValueError` where they do not come out even."""
    given = sum(environment.groups for environment in environments)
    sharing = sum(not environment.groups for environment in environments)
    rest = groups - given
    if not sharing and rest:
        raise ValueError(
            f"rollout.groups: the environments have {given} groups together and the step has {groups}. "
            f"Set rollout.groups to {given}, or give one environment 0, which takes the rest."
        )
    if sharing and given and rest < sharing:
        raise ValueError(
            f"rollout.groups: of {groups} groups {given} are given to environments with groups of their own, which "
            f"leaves {max(rest, 0)} for {sharing} without. Raise it to {given + sharing} or more."
        )
    if sharing and rest % sharing:
        raise ValueError(
            f"rollout.groups: {rest} groups do not split evenly over {sharing} environments. "
            + (f"Use {given} and a multiple of {sharing}." if given else f"Use a multiple of {sharing}.")
        )
    return [environment.groups or rest // sharing for environment in environments]


def read_config(path: Path, overrides: list[str] | None = None) -> RunConfig:
    """A TOML or JSON file, with `section.key=value` overrides, as a checked config; else a `ConfigError`."""
    import json

    try:
        text = path.read_text()
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(
            f"There is no file {path}.", remedy="Give a TOML file such as those in engine/configs."
        ) from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise ConfigError(f"{path} is not valid: {error}.", remedy="Mend it at the line and column named.") from None
    for override in overrides or []:
        apply_override(data, override)
    return build_config(data)


def build_config(data: dict[str, Any]) -> RunConfig:
    """`data` as a checked config; a `ConfigError` lists every problem as `field: reason`."""
    try:
        return RunConfig.model_validate(data)
    except ValidationError as error:
        problems = "\n".join(f"  {field or 'config'}: {reason}" for field, reason in problems_by_field(error))
        raise ConfigError(f"The configuration cannot be used:\n{problems}", remedy="Mend the fields named.") from None


def problems_by_field(error: ValidationError) -> list[tuple[str, str]]:
    """`(dotted field, reason)` for each problem; cross-field rules begin with the field they concern."""
    found = []
    for item in error.errors():
        field = ".".join(map(str, item["loc"]))
        reason = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            reason = "unknown key; remove it or mend its spelling"
        head, separator, rest = reason.partition(": ")
        if separator and " " not in head:
            field, reason = f"{field}.{head}" if field else head, rest
        found.append((field, reason))
    return found


def apply_override(data: dict[str, Any], override: str) -> None:
    """Sets `section.key=value` in `data`; the value is TOML, or a plain string when it is not."""
    key, separator, raw = override.partition("=")
    if not separator:
        raise ConfigError(f"--set {override!r} has no '='.", remedy="Write --set section.key=value.")
    try:
        value: Any = tomllib.loads(f"v = {raw}")["v"]
    except tomllib.TOMLDecodeError:
        value = raw
    target: Any = data
    *parents, last = key.split(".")
    for parent in parents:
        if isinstance(target, list):
            target = target[int(parent)]
        else:
            target = target.setdefault(parent, [{}] if parent == "environments" else {})
    target[int(last) if isinstance(target, list) else last] = value
