"""The default alert rules. No torch.

The signs that they look for are in RAGEN's two papers (arXiv 2504.20073 section 4, arXiv 2604.06268 section 5). The
papers give no portable limits; the numbers here are ours, and each alert shows its own. Severities: *watch* (inspect),
*warn* (act soon), *critical* (the run is collapsing), *dead* (it cannot learn any more). `python -m engine detect`
evaluates them on recorded runs.
"""

from __future__ import annotations

from engine.diagnostics.rule_config import (
    AboveConfig,
    AgreementConfig,
    BelowConfig,
    FallsConfig,
    FallsFromBestConfig,
    FallsSignificantlyConfig,
    GainsConfig,
    NoSignalConfig,
    RewardStdCollapsedConfig,
    RisesConfig,
    RuleConfig,
    SpikeConfig,
    TemplateCollapseConfig,
)

_GENTLER = "Lower optimizer.learning_rate or the clip range, and resume from an earlier checkpoint."
_EARLY = ("template_collapse", "kl_high", "invalid_actions", "thoughts_lost", "format_breakdown")

DEFAULT_RULES: tuple[RuleConfig, ...] = (
    NoSignalConfig(
        name="no_signal", metric="rollout/success", severity="dead", steps=5,
        subject="Training success",
        advice="Updates have no signal: stop, and fork from an earlier checkpoint, or use easier problems.",
    ),
    BelowConfig(
        name="format_breakdown", metric="rollout/parse_ok_rate", severity="critical", steps=3, limit=0.5,
        subject="The share of well-formed responses",
        advice=f"Read some responses: they may be truncated, or noise. {_GENTLER}",
    ),
    FallsFromBestConfig(
        name="success_fell", metric="rollout/success", severity="critical", steps=3,
        window=5, limit=0.5, floor=0.05, beyond_noise=True, subject="Training success", advice=_GENTLER,
    ),
    FallsSignificantlyConfig(
        name="held_out_fell", metric="eval/success", severity="warn", steps=1,
        subject="Held-out success", advice=f"Training does harm, or fits the training problems only. {_GENTLER}",
    ),
    RewardStdCollapsedConfig(
        name="within_group_std_low", metric="reward/within_group_std", severity="warn",
        steps=10, limit=0.1, subject="Within-group reward std",
        advice="Returns within groups are nearly equal, so there is little to learn from: raise the temperature or "
        "vary "
        "the problems.",
    ),
    FallsConfig(
        name="entropy_low", metric="policy/entropy", severity="warn", steps=5, limit=0.2,
        subject="Policy entropy",
        advice="The policy hardly explores any more; if success is too low, raise loss.clip_high or "
        "loss.entropy_coefficient.",
    ),
    RisesConfig(
        name="entropy_high", metric="policy/entropy", severity="warn", steps=3, limit=3.0,
        subject="Policy entropy", advice=f"Responses are turning into noise. {_GENTLER}",
    ),
    SpikeConfig(
        name="grad_norm_spike", metric="optim/grad_norm", severity="watch", steps=3, limit=5.0, window=20,
        subject="Gradient norm",
        advice="Such spikes often precede an irreversible collapse: save a checkpoint and watch success.",
    ),
    AboveConfig(
        name="skipped_updates", metric="optim/skipped_updates", severity="critical", steps=1, limit=0.0,
        cooldown=10, subject="The number of updates without a finite gradient",
        advice="They were skipped. Lower the learning rate, or resume from an earlier checkpoint.",
    ),
    TemplateCollapseConfig(
        name="template_collapse", metric="collapse/mi_ratio", severity="warn", steps=2,
        limit=0.6, baseline=2, floor=0.2, holding="collapse/conditional_entropy_token", holding_limit=0.5,
        subject="Mutual information of thoughts and prompts, as a share of its ceiling,",
        advice="Thoughts stay varied but depend less and less on the state: read thoughts on different problems. "
        f"Where chance decides most rewards, set loss.kl_coefficient. {_GENTLER}",
    ),
    AboveConfig(
        name="kl_high", metric="policy/kl", severity="warn", steps=3, limit=0.1,
        subject="KL to the sampling policy", advice=f"Updates are too large. {_GENTLER}",
    ),
    AboveConfig(
        name="sampler_kl", metric="policy/sampler_kl", severity="warn", steps=3, limit=0.02,
        subject="KL between sampler and learner",
        advice="They do not compute the same model, so the policy is trained on what it did not sample: check "
        "optimizer.precision and the sync probe; lower the learning rate if cluster.overlap is on.",
    ),
    GainsConfig(
        name="invalid_actions", metric="rollout/invalid_action_rate", severity="warn", steps=5, limit=0.1,
        subject="The share of responses with an invalid action",
        advice="Read some answers; raise the format penalty.",
    ),
    FallsConfig(
        name="thoughts_lost", metric="collapse/valid_thought_rate", severity="warn", steps=2, limit=0.9,
        baseline=2, subject="The share of turns with a thought",
        advice=f"Responses end before their thought is complete, or skip it. {_GENTLER}",
    ),
    GainsConfig(
        name="templates_rise", metric="collapse/template_share", severity="watch", steps=1, recovery=5, limit=0.3,
        baseline=2, subject="The share of thoughts that nearly repeat a thought on another problem",
        advice="Read the largest templates: one thought may be used for many states.",
    ),
    AgreementConfig(
        name="warnings_agree", metric="rollout/success", severity="critical", steps=1, recovery=5,
        limit=2, among=_EARLY, subject="Training success",
        advice="Independent signs agree, which single noisy batches seldom cause: resume from an earlier checkpoint.",
    ),
)  # fmt: skip
