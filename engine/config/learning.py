"""How the policy is updated: the loss and the optimizer. Algorithms and filters are in `engine.algorithms`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.algorithms.aggregation import LossAggregation, TokenMean
from engine.config.schedules import ConstantSchedule, Schedule
from engine.section import Section

# tokens that go through the model at once where the choice is left open
ON_A_CPU = 2048  # activations stay in its caches: an update takes 0.79 times as long as with 8192
ON_A_GPU = 16384
LOGITS_AT_ONCE = 1 << 25  # numbers: 128 MiB in float32
MAX_PADDING = 1.25  # attention pads the sequences of a pack to at most this many times their length


class LossConfig(Section):
    clip_low: float = Field(
        0.2, gt=0, le=1, description="Lower clip of the probability ratio: 1 - clip_low. Smaller is safer and slower."
    )
    clip_high: float = Field(
        0.28,
        gt=0,
        le=10,
        description="Upper clip of the probability ratio: 1 + clip_high. Above clip_low, unlikely tokens can gain "
        "probability (DAPO's clip-higher).",
    )
    dual_clip: float = Field(
        3.0,
        ge=0,
        le=100,
        description="With a negative advantage the loss of a token is at most this times -advantage (dual-clip PPO). "
        "0 turns it off.",
    )
    aggregation: LossAggregation = Field(
        TokenMean(),
        description="How token losses become one number. token_mean: every token weighs the same. "
        "sequence_mean_token_mean: every trajectory does. sequence_mean_token_sum: long trajectories weigh more. "
        "sequence_mean_token_sum_norm: the same, divided by a constant length (Dr. GRPO).",
    )
    entropy_coefficient: float = Field(
        0.001, ge=0, le=10, description="Entropy bonus. Too high breaks the response format. 0 turns it off."
    )
    entropy_target: float = Field(
        0.0,
        ge=0,
        le=100,
        description="Mean entropy of trained tokens, in nats, above which a step has no entropy bonus: this keeps "
        "entropy up without letting it grow. policy/entropy shows the current value. 0: every step has the bonus.",
    )
    kl_coefficient: float = Field(
        0.0,
        ge=0,
        le=100,
        description="KL penalty towards the reference model, the model that training starts from. 0 turns it off and "
        "saves the memory of the reference.",
    )
    kl_kind: Literal["k1", "k2", "k3", "k1+", "k3+"] = Field(
        "k3",
        description="Estimator of the KL penalty. k3: low variance. k2: its gradient is that of the KL. k1: no effect, "
        "since its expected gradient is 0. k1+, k3+: values of k1 and k3 with the gradient of k2.",
    )


class OptimizerConfig(Section):
    learning_rate: float = Field(
        2e-4,
        gt=0,
        le=1,
        description="Learning rate of the policy (AdamW). The small model learns at 1e-4 to 3e-4 and breaks near "
        "1e-3; models with billions of parameters need about 1e-6.",
    )
    weight_decay: float = Field(0.01, ge=0, le=1, description="Weight decay of AdamW.")
    moments: Literal["float32", "8bit"] = Field(
        "float32",
        description="Precision of AdamW's two moments. 8bit: 2 bytes per weight instead of 8, by bitsandbytes (the "
        "extra 8bit), with one learner. Training then differs by the rounding; on CPUs its steps are slower.",
    )
    max_grad_norm: float = Field(
        1.0, gt=0, le=1e6, description="Gradients are clipped to this norm. The charts show the norm before clipping."
    )
    updates_per_step: int = Field(
        2,
        ge=1,
        le=64,
        description="Mini-batches per pass over the step's trajectories, one gradient step each.",
    )
    epochs: int = Field(
        1,
        ge=1,
        le=16,
        description="Passes over the step's trajectories. updates_per_step × epochs is the number of gradient steps "
        "per rollout (the k of online-k). More passes learn faster but are further off-policy.",
    )
    micro_batch_tokens: int = Field(
        0,
        ge=0,
        le=10_000_000,
        description="Tokens per forward pass, padding included. Lower saves memory and does not change the result. 0: "
        "2048 on CPUs and 16384 on a GPU, or fewer if that many do not fit into the memory that is free at the "
        "start of the run.",
    )
    packing: bool = Field(
        False,
        description="Pack sequences one after the other instead of padding rows. Does not change the result; faster "
        "when lengths differ a lot.",
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto",
        description="Compute precision. bfloat16 keeps weights and optimizer in float32. auto: bfloat16 on a GPU that "
        "supports it, else float32. On CPUs bfloat16 is usually slower.",
    )
    float32_matmul_precision: Literal["highest", "high", "medium"] = Field(
        "highest",
        description="Matrix products in float32 on a GPU, such as those of the head, also under bfloat16. high: TF32, "
        "several times faster, with 10 bits of mantissa; learner and sampler then agree less. medium: bfloat16. No "
        "effect on CPUs.",
    )
    compile_scores: bool = Field(
        False,
        description="Compile log-probabilities and entropies with torch.compile: fewer passes over the logits, for "
        "GPUs. The first update takes longer, and a C++ compiler is needed. Same result within rounding; no effect on "
        "a head with an adapter.",
    )
    gradient_checkpointing: bool = Field(
        False,
        description="Recompute activations in the backward pass: far less memory, about a third slower, same result.",
    )
    warmup_steps: int = Field(0, ge=0, le=100_000, description="Steps over which the learning rate rises from 0.")
    warmup_tokens: int = Field(
        0,
        ge=0,
        le=1_000_000_000_000,
        description="Sampled tokens over which the learning rate rises from 0, instead of warmup_steps: for runs whose "
        "responses grow. The schedule then counts from the first step.",
    )
    ema_decay: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Decay of an exponential moving average of the weights, updated after each gradient step. "
        "0.99 to 0.999 are usual. 0 keeps none. Takes 4 bytes per trained weight.",
    )
    schedule: Schedule = Field(
        ConstantSchedule(),
        description="Learning rate of the policy after the warm-up. The critic's stays constant.",
    )
