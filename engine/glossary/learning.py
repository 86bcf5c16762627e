"""Results of the updates: policy, critic, optimiser and group filter."""

from __future__ import annotations

from engine.glossary.types import Metric

POLICY = (
    Metric(
        name="policy/entropy", section="policy", title="Policy entropy", unit="nats", low=0,
        meaning="Mean entropy of the policy's distribution at the tokens it sampled and is trained on.",
        formula="mean over trained tokens of -sum p ln p",
        bad="Below a fifth of its initial value: it no longer explores. Above three times that: responses turn into "
        "noise.",
    ),
    Metric(
        name="policy/loss", section="policy", title="Policy loss",
        meaning="The clipped policy-gradient loss. Its level says little; jumps matter.",
        formula="max(-A r, -A clip(r, 1 - low, 1 + high)), bounded by the dual clip",
        bad="Jumps far above its usual level.",
    ),
    Metric(
        name="policy/kl", section="policy", title="KL to sampling policy", unit="nats",
        meaning="How far the step's updates moved the policy from the one that sampled the batch. Approximate KL, k1.",
        formula="mean of old minus new log-probability of sampled tokens",
        bad="Above 0.1 for several steps: updates are too large.",
    ),
    Metric(
        name="policy/kl_to_reference", section="policy", title="KL to reference", unit="nats", low=0,
        meaning="Divergence of the policy from the reference model, which training started from. Only with a KL "
        "penalty.",
        formula="the estimator of loss.kl_kind over sampled tokens",
        bad="Growing fast: the policy forgets what it knew. Stuck at 0: the penalty keeps it from learning.",
    ),
    Metric(
        name="policy/kl_in_reward", section="policy", title="KL penalty in rewards", unit="nats",
        meaning="Mean KL to the reference model that is subtracted from rewards. Only with algorithm.kl_in_reward.",
        formula="mean of the policy's minus the reference model's log-probability",
        bad="Growing fast: the coefficient is too low. Stuck at 0: it is too high for learning.",
    ),
    Metric(
        name="policy/clip_fraction", section="policy", title="Clip fraction", unit="share", low=0, high=1,
        meaning="Share of sampled tokens whose ratio is clipped.",
        formula="tokens where the clipped loss is the larger / tokens",
        bad="Above 0.3: updates are too large, or too many per step.",
    ),
    Metric(
        name="policy/clipped_above", section="policy", title="Clipped above", unit="share", low=0, high=1,
        meaning="Share of sampled tokens with a positive advantage whose ratio is above the upper clip.",
        formula="tokens where A > 0 and r > 1 + clip_high / tokens",
        bad="Most of the clip fraction while entropy falls: raise loss.clip_high, so that rare tokens can grow.",
    ),
    Metric(
        name="policy/clipped_below", section="policy", title="Clipped below", unit="share", low=0, high=1,
        meaning="Share of sampled tokens with a negative advantage whose ratio is below the lower clip.",
        formula="tokens where A < 0 and r < 1 - clip_low / tokens",
        bad="Far above its initial value: updates push bad tokens away faster than they reinforce good ones.",
    ),
    Metric(
        name="policy/clip_fraction_low", section="policy", title="Dual-clip fraction", unit="share", low=0, high=1,
        meaning="Share of sampled tokens with a negative advantage whose loss the dual clip bounds.",
        formula="tokens where A < 0 and r > dual_clip / tokens", bad="Above 0.01: updates are far too large.",
    ),
    Metric(
        name="policy/ratio_max", section="policy", title="Largest ratio", low=0, log=True,
        meaning="Largest ratio of a sampled token's new to its old probability.", formula="max of p_new / p_old",
        bad="Thousands: an update was far too large.",
    ),
    Metric(
        name="policy/sampler_kl", section="policy", title="KL between sampler and learner", unit="nats",
        meaning="Mean difference between the sampler's and the learner's log-probabilities before any update. Should "
        "be 0.",
        formula="mean of sampler's minus learner's log-probability",
        bad="Above 0.001 in float32 or 0.02 in bfloat16: the learner does not see the policy that was sampled from.",
    ),
    Metric(
        name="policy/sampler_gap", section="policy", title="Log-probability gap between sampler and learner",
        unit="nats", low=0, better="lower", meaning="Mean absolute difference between the sampler's and the learner's "
        "log-probabilities of the same tokens. Only when they are separate programs.",
        formula="mean of |sampler's minus learner's log-probability|",
        bad="Above 0.05 in bfloat16 or 0.001 in float32: the two disagree; see the sync probe.",
    ),
    Metric(
        name="policy/importance_weight", section="policy", title="Importance weight", low=0,
        meaning="Mean weight of tokens that corrects the mismatch between sampler and learner.",
        formula="mean of min(exp(learner's minus sampler's log-probability), cluster.importance_cap)",
        bad="Far from 1: the sampler has old weights, or computes something else.",
    ),
    Metric(
        name="policy/staleness", section="policy", title="Staleness", unit="updates", low=0, better="lower",
        meaning="Number of updates by which the sampling policy is older than the learner. Only with cluster.overlap.",
        bad="It is 1 by design; the importance weights show the effect.",
    ),
    Metric(
        name="policy/importance_truncated", section="policy", title="Truncated importance weights", unit="share", low=0,
        high=1, better="lower",
        meaning="Share of sampled tokens whose importance weight was truncated at cluster.importance_cap.",
        bad="Above a few percent: the batch is largely off-policy.",
    ),
)  # fmt: skip

VALUE = (
    Metric(
        name="value/loss", section="value", title="Critic loss", low=0,
        meaning="Error of the critic's predictions of the return to come. Only with a critic.",
        formula="half the mean of max((V - R)^2, (clipped V - R)^2)", bad="Rising: the critic cannot follow.",
    ),
    Metric(
        name="value/explained_variance", section="value", title="Explained variance", high=1, better="higher",
        meaning="Share of the variance of returns that the critic predicts. Only with a critic.",
        formula="1 - var(R - V) / var(R)", bad="Below 0: worse than no critic.",
    ),
    Metric(
        name="value/clip_fraction", section="value", title="Value clip fraction", unit="share", low=0,
        meaning="Share of tokens whose value prediction is clipped. Only with a critic.",
        formula="tokens where the clipped error is the larger / tokens",
        bad="Above 0.3: the critic moves too fast for algorithm.critic.value_clip.",
    ),
)  # fmt: skip

OPTIM = (
    Metric(
        name="optim/grad_norm", section="optim", title="Gradient norm", low=0, log=True,
        meaning="Norm of the policy's gradient before clipping, averaged over the step's updates.",
        formula="Euclidean norm over all weights",
        bad="Above five times its median for several steps: often just before an irreversible collapse.",
    ),
    Metric(
        name="optim/critic_grad_norm", section="optim", title="Critic gradient norm", low=0, log=True,
        meaning="Norm of the critic's gradient before clipping. Only with a critic.",
        formula="Euclidean norm over all weights", bad="Spikes far above its usual level.",
    ),
    Metric(
        name="optim/learning_rate", section="optim", title="Learning rate", low=0,
        meaning="The policy's learning rate at this step, warm-up and schedule included.",
        formula="learning_rate (m + (1 - m) h), m = minimum_ratio of optimizer.schedule; h from 1 to 0 by its type",
        bad="For a small model, 0.001: many runs lose success there. At 0.002 nearly all do.",
    ),
    Metric(
        name="optim/entropy_coefficient", section="optim", title="Entropy coefficient", low=0,
        meaning="Coefficient of the entropy bonus at this step: 0 where the policy has more entropy than "
        "loss.entropy_target.",
        bad="At its full value in every step while entropy falls: the coefficient is too small for the target.",
    ),
    Metric(
        name="optim/skipped_updates", section="optim", title="Skipped updates", unit="updates", low=0, better="lower",
        meaning="Updates of the step, the critic's included, that were skipped because a gradient was not finite. "
        "Weights and optimiser state are unchanged.",
        bad="Above 0: lower the learning rate.",
    ),
)  # fmt: skip

FILTER = (
    Metric(
        name="filter/kept_ratio", section="filter", title="Kept groups", unit="share", low=0, high=1,
        meaning="Share of the step's groups that the filter kept for the update.", formula="kept groups / groups",
        bad="0: the step made no update.",
    ),
    Metric(
        name="filter/kept_groups", section="filter", title="Kept groups, number", unit="groups", low=0,
        meaning="Number of groups that the filter kept for the update.",
        bad="One or two: the gradient depends on a few problems.",
    ),
    Metric(
        name="filter/zero_groups", section="filter", title="Zero-variance groups, number", unit="groups", low=0,
        meaning="Number of groups whose returns are all equal.",
        bad="Nearly all of them: little is left to learn from.",
    ),
    Metric(
        name="filter/refilled_groups", section="filter", title="Resampled groups", unit="groups", low=0,
        meaning="Groups of fresh problems that were rolled out to replace zero-variance groups (dynamic sampling). "
        "Only "
        "with rollout.refill.",
        formula="groups rolled out beyond rollout.groups",
        bad="At rollout.groups times rollout.refill: problems are all too hard or all too easy, and rollouts are "
        "wasted.",
    ),
    Metric(
        name="filter/threshold", section="filter", title="Filter threshold",
        meaning="Score of the last group that was kept, by filter.metric; by default the std of its returns.",
        formula="min over kept groups of their score; max when the smallest are kept",
        bad="Falling towards 0: even the most informative groups have little signal.",
    ),
)  # fmt: skip

ENTRIES = (*POLICY, *VALUE, *OPTIM, *FILTER)
