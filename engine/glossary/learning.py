"""What the updates did: policy, critic, optimiser and group filter."""

from __future__ import annotations

from engine.glossary.types import Metric

POLICY = (
    Metric(
        name="policy/entropy", section="policy", title="Policy entropy", unit="nats", low=0,
        meaning="How undecided the policy is at each token it samples, on average.",
        formula="mean over sampled tokens of -sum p ln p",
        bad="Under a fifth of its start: it no longer explores. Over three times its start: responses turn into noise.",
    ),
    Metric(
        name="policy/loss", section="policy", title="Policy loss",
        meaning="The clipped objective, as a loss. Its size says little; its jumps do.",
        formula="max(-A r, -A clip(r, 1 - low, 1 + high)), bounded by the dual clip",
        bad="Jumps of many times its usual.",
    ),
    Metric(
        name="policy/kl", section="policy", title="KL of one step", unit="nats",
        meaning="How far the step's updates moved the policy from the one that sampled.",
        formula="mean of old minus new log-probability of sampled tokens",
        bad="Above 0.1 for some steps: updates are too large.",
    ),
    Metric(
        name="policy/kl_to_reference", section="policy", title="KL to the start", unit="nats", low=0,
        meaning="How far the policy is from the model that the run began with. Only with a KL penalty.",
        formula="the estimator of loss.kl_kind over sampled tokens",
        bad="Racing away: the policy leaves what it knew. Stuck at 0: the penalty holds it in place.",
    ),
    Metric(
        name="policy/kl_in_reward", section="policy", title="KL charged to rewards", unit="nats",
        meaning="How much likelier a sampled token is to the policy than to the model that the run began with, on "
        "average. Only with algorithm.kl_in_reward, which makes it a cost.",
        formula="mean of sampled minus starting log-probability",
        bad="Racing away: the cost is too low to hold the policy. Stuck at 0: too high to let it learn.",
    ),
    Metric(
        name="policy/clip_fraction", section="policy", title="Clipped tokens", unit="share", low=0,
        meaning="Share of sampled tokens on which the ratio clip holds the update back.",
        formula="tokens where the clipped loss is the larger / tokens",
        bad="Above 0.3: updates are too large, or too many per step.",
    ),
    Metric(
        name="policy/clipped_above", section="policy", title="Clipped above", unit="share", low=0, high=1,
        meaning="Share of sampled tokens that did well and whose ratio passed the upper clip: no more is gained there.",
        formula="tokens where A > 0 and r > 1 + clip_high / tokens",
        bad="Most of the clipped ones while entropy falls: raise loss.clip_high, so that rare tokens may grow.",
    ),
    Metric(
        name="policy/clipped_below", section="policy", title="Clipped below", unit="share", low=0, high=1,
        meaning="Share of sampled tokens that did badly and whose ratio passed the lower clip: no more is taken there.",
        formula="tokens where A < 0 and r < 1 - clip_low / tokens",
        bad="Far above its start: updates push bad tokens away faster than they learn good ones.",
    ),
    Metric(
        name="policy/clip_fraction_low", section="policy", title="Dual-clipped tokens", unit="share", low=0,
        meaning="Share of sampled tokens with a negative advantage whose loss the dual clip bounds.",
        formula="tokens where A < 0 and r > dual_clip / tokens", bad="Above 0.01: the policy jumps.",
    ),
    Metric(
        name="policy/ratio_max", section="policy", title="Largest ratio", low=0, log=True,
        meaning="Largest ratio of a sampled token's new probability to its old one.", formula="max of p_new / p_old",
        bad="Thousands: the policy jumped.",
    ),
    Metric(
        name="policy/sampler_kl", section="policy", title="Sampler against learner", unit="nats",
        meaning="How far the sampler's log-probabilities lie from the learner's, before any update. It should be 0.",
        formula="mean of sampler's minus learner's log-probability",
        bad="Above 0.001: what is trained is not what was sampled.",
    ),
    Metric(
        name="policy/sampler_gap", section="policy", title="Sampler and learner apart", unit="nats", low=0,
        better="lower", meaning="Mean distance between the two programs' log-probabilities of the same tokens. Only "
        "where one samples and another learns.",
        formula="mean of |sampler's minus learner's log-probability|",
        bad="Above 0.05 in bfloat16 or 0.001 in float32: they compute different things; look at the sync probe.",
    ),
    Metric(
        name="policy/importance_weight", section="policy", title="Importance weight", low=0,
        meaning="Mean of what tokens count by, for the learner finding them likelier or less likely than the sampler.",
        formula="mean of min(exp(learner's minus sampler's log-probability), cluster.importance_cap)",
        bad="Far from 1: the sampler is behind, or computes something else.",
    ),
    Metric(
        name="policy/staleness", section="policy", title="Updates behind", unit="updates", low=0, better="lower",
        meaning="Updates by which the policy that sampled is behind the one that learns. Only with cluster.overlap.",
        bad="It is 1 by design; look at the importance weights for what that costs.",
    ),
    Metric(
        name="policy/importance_truncated", section="policy", title="Truncated weights", unit="share", low=0, high=1,
        better="lower", meaning="Share of sampled tokens whose importance weight was cut to cluster.importance_cap.",
        bad="Above a few percent: much of the step is of another policy.",
    ),
)  # fmt: skip

VALUE = (
    Metric(
        name="value/loss", section="value", title="Critic loss", low=0,
        meaning="How wrong the critic's forecasts of the reward still to come are. Only with a critic.",
        formula="half the mean of max((V - R)^2, (clipped V - R)^2)", bad="Rising: the critic cannot follow.",
    ),
    Metric(
        name="value/explained_variance", section="value", title="Explained variance", high=1, better="higher",
        meaning="Share of the differences between returns that the critic foresees. Only with a critic.",
        formula="1 - var(R - V) / var(R)", bad="Under 0: worse than no critic at all.",
    ),
    Metric(
        name="value/clip_fraction", section="value", title="Clipped values", unit="share", low=0,
        meaning="Share of tokens on which the value clip holds the critic back. Only with a critic.",
        formula="tokens where the clipped error is the larger / tokens",
        bad="Above 0.3: the critic learns too fast for loss.value_clip.",
    ),
)  # fmt: skip

OPTIM = (
    Metric(
        name="optim/grad_norm", section="optim", title="Gradient norm", low=0, log=True,
        meaning="Length of the policy's gradient before it is clipped, averaged over the step's updates.",
        formula="Euclidean norm over all weights",
        bad="Over five times its median for some steps: often just before a collapse that cannot be undone.",
    ),
    Metric(
        name="optim/critic_grad_norm", section="optim", title="Critic gradient norm", low=0, log=True,
        meaning="Length of the critic's gradient before it is clipped. Only with a critic.",
        formula="Euclidean norm over all weights", bad="Spikes of many times its usual.",
    ),
    Metric(
        name="optim/learning_rate", section="optim", title="Learning rate", low=0,
        meaning="The policy's learning rate in this step, warm-up and schedule included.",
        formula="learning_rate (m + (1 - m) h), m = minimum_lr_ratio; h from 1 to 0 as a line or (1 + cos) / 2",
        bad="For the small model, near 0.001: about half of all runs break there.",
    ),
    Metric(
        name="optim/skipped_updates", section="optim", title="Skipped updates", unit="updates", low=0, better="lower",
        meaning="Updates of the step, the critic's too, that were left out because a gradient was infinite or not a "
        "number. Weights and optimiser stay as they were.",
        bad="Anything above 0: lower the learning rate.",
    ),
)  # fmt: skip

FILTER = (
    Metric(
        name="filter/kept_ratio", section="filter", title="Kept groups", unit="share", low=0, high=1,
        meaning="Share of the step's groups that the filter let train.", formula="kept groups / groups",
        bad="0: the step made no update, for want of signal.",
    ),
    Metric(
        name="filter/kept_groups", section="filter", title="Kept groups, number", unit="groups", low=0,
        meaning="Number of groups that trained.", bad="One or two: the gradient hangs on a few problems.",
    ),
    Metric(
        name="filter/zero_groups", section="filter", title="Groups without spread, number", unit="groups", low=0,
        meaning="Number of groups whose returns are all equal.",
        bad="Nearly all of them: little is left to learn from.",
    ),
    Metric(
        name="filter/refilled_groups", section="filter", title="Groups drawn again", unit="groups", low=0,
        meaning="Groups of fresh problems that were rolled out because returns of others were all equal. Only with "
        "rollout.refill.",
        formula="groups rolled out beyond rollout.groups",
        bad="At rollout.groups times rollout.refill: problems are all too hard or all too easy, and rollout is wasted.",
    ),
    Metric(
        name="filter/threshold", section="filter", title="Score of the last kept group",
        meaning="Score of the last group that was kept, by filter.metric: unless chosen otherwise the spread of its "
        "returns. Every kept group has at least this much, or at most when the smallest are kept.",
        formula="min over kept groups of their score",
        bad="Falling towards 0: even the most uncertain problems say little.",
    ),
)  # fmt: skip

ENTRIES = (*POLICY, *VALUE, *OPTIM, *FILTER)
