"""Gradient norm by loss term, in buckets of within-group reward std (arXiv 2604.06268)."""

from __future__ import annotations

from engine.glossary.types import Metric

_PER_GROUP = "mean over groups of the norm of each group's own gradient, so that buckets of any size compare"

ENTRIES = (
    Metric(
        name="gradient/<tag>/task", section="gradient", title="<tag>: task gradient", low=0,
        meaning="Norm of the policy loss's gradient in this bucket: the signal of the rewards, and their noise.",
        formula=_PER_GROUP, bad="As large in buckets of low reward std as in those of high: most of it is noise.",
    ),
    Metric(
        name="gradient/<tag>/entropy", section="gradient", title="<tag>: entropy gradient", low=0,
        meaning="Norm of the entropy bonus's gradient, its coefficient included; 0 without a bonus.",
        formula=_PER_GROUP, bad="Above the task gradient: the entropy bonus dominates the update.",
    ),
    Metric(
        name="gradient/<tag>/kl", section="gradient", title="<tag>: KL gradient", low=0,
        meaning="Norm of the KL penalty's gradient, its coefficient included; 0 without a penalty.",
        formula=_PER_GROUP, bad="Above the task gradient: the policy is held at the reference model.",
    ),
    Metric(
        name="gradient/<tag>/regularizer_share", section="gradient", title="<tag>: share of regularizers",
        unit="share", low=0, high=1, better="lower",
        meaning="Share of the gradient norms that comes from entropy and KL, which carry no task signal.",
        formula="(entropy + KL) / (task + entropy + KL), of norms",
        bad="Near 1: these groups only push towards what all prompts share. The filter can leave them out.",
    ),
    Metric(
        name="gradient/<tag>/reward_std", section="gradient", title="<tag>: within-group reward std", low=0,
        meaning="Mean within-group std of returns in the bucket.", formula="mean of std within groups",
        bad="0 in most buckets: few groups have a signal.",
    ),
    Metric(
        name="gradient/<tag>/groups", section="gradient", title="<tag>: groups", unit="groups", low=0,
        meaning="Number of groups in the bucket.", bad="1 or 2: its norms are noisy.",
    ),
)  # fmt: skip
