"""Presets of alert rules, by name. No torch.

How well they predict collapse is in `docs/findings.md`; `python -m engine detect` evaluates them on your own runs.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.diagnostics.default_rules import DEFAULT_RULES
from engine.diagnostics.rule_config import (
    RULE,
    AboveConfig,
    AgreementConfig,
    BelowConfig,
    FallsConfig,
    FallsFromBestConfig,
    GainsConfig,
    RisesConfig,
    RuleConfig,
    ZScoreConfig,
)


class RulePreset(NamedTuple):
    title: str
    description: str
    rules: tuple[RuleConfig, ...]


def _default(*names: str, **changes: object) -> list[RuleConfig]:
    """Default rules with changes; each is validated again."""
    return [RULE.validate_python({**rule.model_dump(), **changes}) for rule in DEFAULT_RULES if rule.name in names]


_EARLY = ("thoughts_lost", "invalid_actions", "kl_high")
_AGREE = AgreementConfig(
    name="early_signs_agree", metric="rollout/success", severity="critical", steps=1, recovery=5,
    limit=2, among=_EARLY, action="pause", subject="Training success",
    advice="Two independent signs agree: inspect the run before it continues.",
)  # fmt: skip
_CUT_OFF = GainsConfig(
    name="cut_off", metric="rollout/cut_off_rate", severity="warn", steps=3, limit=0.1, baseline=5,
    subject="The share of truncated responses",
    advice="Raise max_response_tokens, or penalise long responses (rollout.overlong_buffer).",
)  # fmt: skip
_LENGTH = ZScoreConfig(
    name="response_length", metric="rollout/response_tokens", severity="watch", steps=3, limit=4.0,
    window=20, floor=5.0, cooldown=20, subject="Response length",
    advice="Read some: they may ramble, or skip their thought.",
)  # fmt: skip
_CLIPPED = AboveConfig(
    name="clipped", metric="policy/clip_fraction", severity="warn", steps=5, limit=0.3, cooldown=20,
    subject="Clip fraction", advice="Updates are larger than the clip range: lower the learning rate.",
)  # fmt: skip
_REWARD_STD = FallsConfig(
    name="within_group_std_vanished", metric="reward/within_group_std", severity="dead", steps=10,
    limit=0.1, action="stop", subject="Within-group reward std",
    advice="This is RAGEN's early stop. It cannot tell solved problems from a collapsed policy.",
)  # fmt: skip

# Signs that were evaluated on RAGEN's logs, with the limits used there. Most of them also fired in healthy runs, so
# alone they are only to watch; their agreement counts for more.
_DRIFTS = (
    FallsConfig(
        name="reward_std_low", metric="reward/within_group_std", severity="watch", steps=10, limit=0.1,
        subject="Within-group reward std", advice="With high success the problems may be solved.",
    ),
    FallsConfig(
        name="retrieval_low", metric="collapse/retrieval_accuracy", severity="watch", steps=2, limit=0.5,
        baseline=3, advice="It falls in healthy runs as well: read it with success.",
    ),
    FallsConfig(
        name="mi_zscore_low", metric="collapse/mi_zscore_ema", severity="watch", steps=1, limit=0.5,
        baseline=3, advice="Read thoughts on different problems: they may no longer depend on the state.",
    ),
    RisesConfig(
        name="mi_inflated", metric="collapse/mi_token_compat", severity="watch", steps=1, limit=1.5,
        baseline=3, advice="Its rise preceded entropy blow-up more often than its fall did.",
    ),
    RisesConfig(
        name="conditional_entropy_high", metric="collapse/conditional_entropy_token", severity="watch",
        steps=1, limit=1.5, baseline=3, subject="H(Z|X) per token",
        advice="Read some thoughts: this is entropy blow-up.",
    ),
    FallsConfig(
        name="entropy_halved", metric="policy/entropy", severity="watch", steps=1, limit=0.5,
        subject="Policy entropy", advice="Alone it says little: it fell in every healthy run, too.",
    ),
    FallsFromBestConfig(
        name="success_falls", metric="rollout/success", severity="watch", steps=1, recovery=5,
        mean_over=10, window=10, limit=0.75, floor=0.05, subject="Training success",
        advice="Check whether the gradient norm spiked.",
    ),
    FallsFromBestConfig(
        name="success_halved", metric="rollout/success", severity="warn", steps=1, recovery=5,
        mean_over=10, window=10, limit=0.5, floor=0.05, subject="Training success",
        advice="Check the within-group reward std.",
    ),
)  # fmt: skip
_UNEVEN = (
    AboveConfig(
        name="zero_variance_groups", metric="rollout/zero_variance_share", severity="warn", steps=3,
        limit=0.6, cooldown=10, action="checkpoint", subject="The share of zero-variance groups",
        advice="Little is left to learn from: check whether problems are all solved, or all fail.",
    ),
    BelowConfig(
        name="kl_negative", metric="policy/kl", severity="warn", steps=3, limit=-0.1, cooldown=10,
        action="checkpoint", subject="KL to the sampling policy",
        advice="A large negative value is as far off as a positive one. Lower the learning rate.",
    ),
)  # fmt: skip
_RUNGS = (
    AgreementConfig(
        name="spike_and_fall", metric="rollout/success", severity="critical", steps=1, recovery=5,
        limit=2, among=("gradient_spike", "success_falls"), subject="Training success",
        advice="The gradient norm spiked and success falls: resume from a checkpoint before the spike.",
    ),
    AgreementConfig(
        name="reward_std_and_success_gone", metric="rollout/success", severity="dead", steps=1,
        recovery=5, limit=2, among=("reward_std_low", "success_halved"), subject="Training success",
        advice="Returns within groups are nearly equal and success is below half of its best: stop, and resume from an "
        "earlier checkpoint.",
    ),
)  # fmt: skip
# a spike counts for twenty steps, since success falls after it
_SPIKE = _default("grad_norm_spike", name="gradient_spike", steps=1, recovery=20)

# whatever else is watched: with it the policy is trained on what it did not sample
_SAMPLER = _default("sampler_kl", cooldown=10)

RULE_PRESETS: dict[str, RulePreset] = {
    "standard": RulePreset(
        "Default",
        "All forms of collapse, from first signs to the end; notify only.",
        DEFAULT_RULES,
    ),
    "early_signs": RulePreset(
        "Early signs",
        "Lost thoughts, invalid actions and large updates: each saves a checkpoint, two together pause the run.",
        (*_default(*_EARLY, action="checkpoint", cooldown=10), _AGREE, *_SAMPLER),
    ),
    "stop_when_collapsed": RulePreset(
        "Stop when collapsed",
        "Stops a run that has no signal left or whose format is broken; else only warns of a sampler that differs from "
        "the learner.",
        (*_default("no_signal", "format_breakdown", action="stop"), *_SAMPLER),
    ),
    "responses": RulePreset(
        "Format and length",
        "Malformed, truncated, much longer or much shorter responses, and invalid actions.",
        (*_default("format_breakdown", "invalid_actions", "thoughts_lost"), _CUT_OFF, _LENGTH, *_SAMPLER),
    ),
    "optimisation": RulePreset(
        "Optimisation",
        "Gradient spikes, large updates, clipping, skipped updates, and a sampler that differs from the learner.",
        (*_default("grad_norm_spike", "kl_high", "skipped_updates", "sampler_kl", cooldown=10), _CLIPPED),
    ),
    "papers": RulePreset(
        "All signs of the papers",
        "Every sign that was evaluated on RAGEN's logs. Drifts are to watch, first signs save a checkpoint; critical "
        "and dead need two signs. Fires in many healthy runs.",
        (*_default(*_EARLY, action="checkpoint", cooldown=10), *_UNEVEN, *_DRIFTS, *_SPIKE, *_RUNGS, *_SAMPLER),
    ),
    "ragen": RulePreset(
        "RAGEN's early stop",
        "Within-group reward std below a tenth of its start for ten steps, for comparison.",
        (_REWARD_STD, *_SAMPLER),
    ),
    "none": RulePreset("None", "No rules and no alerts.", ()),
}
