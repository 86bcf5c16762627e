"""The rules of a run that names none of its own. No torch.

What each watches for is in RAGEN's two papers (arXiv 2504.20073 section 4, arXiv 2604.06268 section 5). They give no
portable limits; the numbers here are ours, and each alert shows the one it used. The ladder: *watch* (look), *warn*
(act soon), *critical* (it is breaking), *dead* (it cannot learn any more). `python -m engine detect` says how they do
on recorded runs.
"""

from __future__ import annotations

from engine.diagnostics.rule_config import RuleConfig

_GENTLER = "Lower optimizer.learning_rate or the clip, and go on from a checkpoint before it."
_EARLY = ("template_collapse", "policy_moves_fast", "invalid_actions", "thoughts_lost", "format_breakdown")

DEFAULT_RULES: tuple[RuleConfig, ...] = (
    RuleConfig(
        name="no_signal", kind="no_signal", metric="rollout/success", severity="dead", steps=5,
        subject="Training success",
        advice="No update can change that: stop, and go on from a checkpoint before it, or take easier problems.",
    ),
    RuleConfig(
        name="format_breakdown", kind="below", metric="rollout/parse_ok_rate", severity="critical", steps=3, limit=0.5,
        subject="The share of well-formed responses",
        advice=f"Read some responses: they may be cut off, or noise. {_GENTLER}",
    ),
    RuleConfig(
        name="success_fell", kind="falls_from_best", metric="rollout/success", severity="critical", steps=1,
        recovery=5, window=10, limit=0.5, floor=0.05, subject="Training success", advice=_GENTLER,
    ),
    RuleConfig(
        name="in_group_std_low", kind="reward_std_collapsed", metric="reward/within_group_std", severity="warn", steps=10, limit=0.1,
        subject="The spread of returns within groups",
        advice="Groups no longer disagree, so they teach nothing: raise the temperature or vary the problems.",
    ),
    RuleConfig(
        name="entropy_low", kind="falls", metric="policy/entropy", severity="warn", steps=5, limit=0.2,
        subject="Policy entropy",
        advice="It hardly explores any more; if success is not where it should be, raise loss.clip_high or "
        "loss.entropy_coefficient.",
    ),
    RuleConfig(
        name="entropy_high", kind="rises", metric="policy/entropy", severity="warn", steps=3, limit=3.0,
        subject="Policy entropy", advice=f"Responses are turning into noise. {_GENTLER}",
    ),
    RuleConfig(
        name="grad_norm_spike", kind="spike", metric="optim/grad_norm", severity="watch", steps=3, limit=5.0, window=20,
        subject="The gradient norm",
        advice="Such spikes often come before a collapse that cannot be undone: save a checkpoint, watch success.",
    ),
    RuleConfig(
        name="skipped_updates", kind="above", metric="optim/skipped_updates", severity="critical", steps=1, limit=0.0,
        cooldown=10, subject="The number of updates with no finite gradient",
        advice="Those changed nothing. Lower the learning rate, or go on from a checkpoint before it.",
    ),
    RuleConfig(
        name="template_collapse", kind="template_collapse", metric="collapse/mi_ratio", severity="warn", steps=1,
        limit=0.6, baseline=2, floor=0.2, holding="collapse/conditional_entropy_token", holding_limit=0.5,
        subject="What thoughts tell about their prompt, as a share of what they could tell,",
        advice="Thoughts stay varied but answer the state less and less: read thoughts on "
        f"different problems. {_GENTLER}",
    ),
    RuleConfig(
        name="policy_moves_fast", kind="above", metric="policy/kl", severity="warn", steps=3, limit=0.1,
        subject="The policy's move within a step", advice=f"Each update goes too far. {_GENTLER}",
    ),
    RuleConfig(
        name="invalid_actions", kind="gains", metric="rollout/invalid_action_rate", severity="warn", steps=5, limit=0.1,
        subject="The share of actions that do not exist", advice="Read some answers; raise the format penalty.",
    ),
    RuleConfig(
        name="thoughts_lost", kind="falls", metric="collapse/valid_thought_rate", severity="warn", steps=2, limit=0.9,
        baseline=2, subject="The share of turns with a thought",
        advice=f"Responses end before their thought does, or skip it. {_GENTLER}",
    ),
    RuleConfig(
        name="templates_spread", kind="gains", metric="collapse/template_share", severity="watch", steps=1, limit=0.3,
        baseline=2, subject="The share of thoughts that nearly repeat one on another problem",
        advice="Read the largest templates: one thought may serve many states.",
    ),
    RuleConfig(
        name="warnings_agree", kind="agreement", metric="rollout/success", severity="critical", steps=1, recovery=5,
        limit=2, among=_EARLY, subject="Training success",
        advice="Signs of different kinds agree, which one odd batch seldom does: go back to a checkpoint before them.",
    ),
)  # fmt: skip
