"""How hard each part of the loss pulls, by how much returns differ within groups (arXiv 2604.06268)."""

from __future__ import annotations

from engine.glossary.types import Metric

_PER_GROUP = "the mean over groups of the norm of each group's own gradient, so that buckets of any size compare"

ENTRIES = (
    Metric(
        name="gradient/<tag>/task", section="gradient", title="<tag>: task gradient", low=0,
        meaning="Norm of the policy loss's gradient in this bucket: what rewards teach, and their noise.",
        formula=_PER_GROUP, bad="As large where returns hardly differ as where they do: most of it is noise.",
    ),
    Metric(
        name="gradient/<tag>/entropy", section="gradient", title="<tag>: entropy gradient", low=0,
        meaning="Norm of the entropy bonus's gradient, its coefficient included; 0 without a bonus.",
        formula=_PER_GROUP, bad="Over the task's: the bonus decides where the policy goes.",
    ),
    Metric(
        name="gradient/<tag>/kl", section="gradient", title="<tag>: KL gradient", low=0,
        meaning="Norm of the gradient of the pull to the starting model, its coefficient included; 0 without a pull.",
        formula=_PER_GROUP, bad="Over the task's: the policy is held where it began.",
    ),
    Metric(
        name="gradient/<tag>/regularizer_share", section="gradient", title="<tag>: share of regularizers",
        unit="share", low=0, high=1, better="lower",
        meaning="How much of the pull comes from entropy and KL, which say nothing about the task.",
        formula="(entropy + KL) / (task + entropy + KL), of norms",
        bad="Near 1: such groups only push towards what all prompts share. The filter can leave them out.",
    ),
    Metric(
        name="gradient/<tag>/reward_std", section="gradient", title="<tag>: spread of returns", low=0,
        meaning="Mean standard deviation of returns within the bucket's groups.", formula="mean of std within groups",
        bad="0 in most buckets: few groups have anything to teach.",
    ),
    Metric(
        name="gradient/<tag>/groups", section="gradient", title="<tag>: groups", unit="groups", low=0,
        meaning="Number of groups in the bucket.", bad="1 or 2: its norms are noisy.",
    ),
)  # fmt: skip
