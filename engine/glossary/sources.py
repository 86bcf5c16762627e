"""Where metrics come from: the papers that define them or found them telling."""

from __future__ import annotations

RAGEN = "arXiv 2504.20073, section 4"
RAGEN_2 = "arXiv 2604.06268"
DAPO = "arXiv 2503.14476"
PPO = "arXiv 1707.06347"
DUAL_CLIP = "arXiv 1912.09729"
WILSON = "Wilson (1927), score interval"

# by the beginning of a name; the longest that fits counts
SOURCES: dict[str, str] = {
    "collapse/mi_": RAGEN_2,
    "collapse/conditional_entropy": RAGEN_2,
    "collapse/reasoning_entropy": RAGEN_2,
    "collapse/retrieval_": RAGEN_2,
    "collapse/marginal_": RAGEN_2,
    "collapse/matched_": RAGEN_2,
    "collapse/template_share": RAGEN_2,
    "gradient/": RAGEN_2,
    "reward/within_group_std": RAGEN,
    "reward/length_penalty": DAPO,
    "policy/entropy": RAGEN,
    "policy/clip": PPO,
    "policy/clip_fraction_low": DUAL_CLIP,
    "optim/grad_norm": RAGEN,
    "filter/": RAGEN,
    "filter/refilled_groups": DAPO,
    "rollout/zero_variance_share": DAPO,
    "eval/<tag>/success_low": WILSON,
    "eval/<tag>/success_high": WILSON,
}


def source_of(name: str) -> str:
    """The source of a metric; empty where it is our own or speaks for itself."""
    fitting = [start for start in SOURCES if name.startswith(start)]
    return SOURCES[max(fitting, key=len)] if fitting else ""
