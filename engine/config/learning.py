"""What is learned from trajectories, and how: advantages, losses, the filter of groups, the optimiser."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from engine.config.section import Section

Estimator = Literal[
    "grpo", "dr_grpo", "rloo", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "gae", "bi_level_gae", "remax"
]
WITH_CRITIC = frozenset({"gae", "bi_level_gae"})
WITHIN_GROUP = frozenset({"grpo", "dr_grpo", "rloo", "reinforce_plus_plus_baseline"})
# tokens that go through the model at once where the choice is left open
ON_A_CPU = 2048  # activations stay in its caches: an update takes 0.79 times as long as with 8192
ON_A_GPU = 16384


class AlgorithmConfig(Section):
    estimator: Estimator = Field(
        "grpo",
        description="Advantages. Against the group, no critic: grpo; dr_grpo (not divided by the spread); rloo (the "
        "mean of the others); reinforce_plus_plus_baseline (evened over the batch). reinforce_plus_plus: evened over "
        "the batch alone. remax: against a greedy episode of the problem, "
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
        description="Scores are normalised before credit, among the trajectories of one problem (state), one "
        "environment (tag) or the step (batch); none leaves them. The filter reads raw returns in any case, "
        "on one scale where there are several environments.",
    )
    normalize_method: Literal["mean", "mean_std", "asym_clip"] = Field(
        "mean_std",
        description="mean: less the mean. mean_std: over the standard deviation besides. asym_clip: mean_std kept "
        "within -1 and 3, so that rare successes count more than failures.",
    )
    soft_reweighting: bool = Field(
        False,
        description="Advantages times the spread of their group's returns over the step's largest: a filter that "
        "fades groups in place of dropping them.",
    )
    length_weighting: bool = Field(
        False,
        description="Advantages times mean length over the trajectory's own, in sampled tokens, so that long "
        "trajectories do not count for more where every token counts alike.",
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
        0,
        ge=0,
        le=10_000_000,
        description="Tokens per forward pass, padding counted; lower saves memory, same result. 0 chooses: 2048 on "
        "CPUs, whose caches hold that much, 16384 on a GPU.",
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
