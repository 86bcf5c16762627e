"""Sets of alert rules to begin with, by name. No torch.

What is known of their worth is in `docs/findings.md` and by `python -m engine detect`; no limit fits everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.diagnostics.default_rules import DEFAULT_RULES
from engine.diagnostics.rule_config import RuleConfig


class RulePreset(NamedTuple):
    title: str
    description: str
    rules: tuple[RuleConfig, ...]


def _default(*names: str, **changes: object) -> list[RuleConfig]:
    """Rules of a new run, changed; each is checked again."""
    return [RuleConfig.model_validate({**rule.model_dump(), **changes}) for rule in DEFAULT_RULES if rule.name in names]


_EARLY = ("thoughts_lost", "invalid_actions", "policy_moves_fast")
_AGREE = RuleConfig(
    name="early_signs_agree", kind="agreement", metric="rollout/success", severity="critical", steps=1, recovery=5,
    limit=2, among=_EARLY, action="pause", subject="Training success",
    advice="Two signs of different kinds agree: look before more is lost.",
)  # fmt: skip
_CUT_OFF = RuleConfig(
    name="cut_off", kind="gains", metric="rollout/cut_off_rate", severity="warn", steps=3, limit=0.1, baseline=5,
    subject="The share of responses that are cut off",
    advice="Raise max_response_tokens, or let long responses cost something (rollout.overlong_buffer).",
)  # fmt: skip
_LENGTH = RuleConfig(
    name="response_length", kind="z_score", metric="rollout/response_tokens", severity="watch", steps=3, limit=4.0, window=20,
    floor=5.0, cooldown=20, subject="The length of responses", advice="Read some: they may ramble, or stop thinking.",
)  # fmt: skip
_CLIPPED = RuleConfig(
    name="clipped", kind="above", metric="policy/clip_fraction", severity="warn", steps=5, limit=0.3, cooldown=20,
    subject="The share of clipped tokens", advice="Updates go further than the clip allows: lower the learning rate.",
)  # fmt: skip
_REWARD_STD = RuleConfig(
    name="in_group_std_gone", kind="falls", metric="reward/within_group_std", severity="dead", steps=10, limit=0.1,
    action="stop", subject="The spread of returns within groups",
    advice="This is RAGEN's early stop. It cannot tell a solved problem from a dead policy.",
)  # fmt: skip

# Signs that RAGEN's logs were searched for, with the limits they were searched with. Most of them spoke in runs that
# went well too, so alone they only watch; what is worth more is their agreement.
_DRIFTS = (
    RuleConfig(
        name="reward_std_low", kind="falls", metric="reward/within_group_std", severity="watch", steps=10, limit=0.1,
        subject="The spread of returns within groups", advice="With high success the problems may simply be solved.",
    ),
    RuleConfig(
        name="retrieval_low", kind="falls", metric="collapse/retrieval_accuracy", severity="watch", steps=2, limit=0.5,
        baseline=3, advice="It falls in healthy runs as well: read it with success.",
    ),
    RuleConfig(
        name="mi_zscore_low", kind="falls", metric="collapse/mi_zscore_ema", severity="watch", steps=1, limit=0.5,
        baseline=3, advice="Read thoughts on different problems: they may no longer depend on the state.",
    ),
    RuleConfig(
        name="mi_inflated", kind="rises", metric="collapse/mi_token_compat", severity="watch", steps=1, limit=1.5,
        baseline=3, advice="It came before thoughts fell apart more often than its fall did.",
    ),
    RuleConfig(
        name="thoughts_vary_more", kind="rises", metric="collapse/conditional_entropy_token", severity="watch", steps=1,
        limit=1.5, baseline=3, subject="How varied thoughts on one prompt are, per token,",
        advice="Read some: they may be falling apart.",
    ),
    RuleConfig(
        name="entropy_halved", kind="falls", metric="policy/entropy", severity="watch", steps=1, limit=0.5,
        subject="Policy entropy", advice="Alone it says little: it fell in every run that went well, too.",
    ),
    RuleConfig(
        name="success_falls", kind="falls_from_best", metric="rollout/success", severity="watch", steps=1, recovery=5,
        window=10, limit=0.75, floor=0.05, subject="Training success", advice="See whether the gradient spiked.",
    ),
    RuleConfig(
        name="success_halved", kind="falls_from_best", metric="rollout/success", severity="warn", steps=1, recovery=5,
        window=10, limit=0.5, floor=0.05, subject="Training success", advice="See whether groups still disagree.",
    ),
)  # fmt: skip
_UNEVEN = (
    RuleConfig(
        name="zero_variance_groups", kind="above", metric="rollout/zero_variance_share", severity="warn", steps=3,
        limit=0.6, cooldown=10, action="checkpoint", subject="The share of groups without spread",
        advice="Little is left to learn from: see whether problems are solved, or all fail.",
    ),
    RuleConfig(
        name="policy_moves_back", kind="below", metric="policy/kl", severity="warn", steps=3, limit=-0.1, cooldown=10,
        action="checkpoint", subject="The policy's move within a step",
        advice="Below 0 it is as far out as above: sampled tokens grew likelier as a whole. Lower the learning rate.",
    ),
)  # fmt: skip
_RUNGS = (
    RuleConfig(
        name="spike_and_fall", kind="agreement", metric="rollout/success", severity="critical", steps=1, recovery=5,
        limit=2, among=("gradient_spike", "success_falls"), subject="Training success",
        advice="The gradient spiked and success falls: go back to a checkpoint before the spike.",
    ),
    RuleConfig(
        name="reward_std_and_success_gone", kind="agreement", metric="rollout/success", severity="dead", steps=1,
        recovery=5, limit=2, among=("reward_std_low", "success_halved"), subject="Training success",
        advice="Groups no longer disagree and success is under half its best: stop, and go on from a checkpoint "
        "before it.",
    ),
)  # fmt: skip
# a spike stands for twenty steps, for success falls after it
_SPIKE = _default("grad_norm_spike", name="gradient_spike", steps=1, recovery=20)

RULE_PRESETS: dict[str, RulePreset] = {
    "standard": RulePreset(
        "A new run's",
        "Collapse in all its forms, from first signs to the end; nothing is done but tell.",
        DEFAULT_RULES,
    ),
    "early_signs": RulePreset(
        "Early signs",
        "Lost thoughts, invalid actions and fast moves: each keeps a checkpoint, two together pause the run.",
        (*_default(*_EARLY, action="checkpoint", cooldown=10), _AGREE),
    ),
    "save_the_machine": RulePreset(
        "Save the machine",
        "Ends a run that cannot learn any more, or whose format is gone; silent until then.",
        tuple(_default("no_signal", "format_breakdown", action="stop")),
    ),
    "responses": RulePreset(
        "Format and length",
        "Malformed, cut-off, much longer or much shorter responses, and actions that do not exist.",
        (*_default("format_breakdown", "invalid_actions", "thoughts_lost"), _CUT_OFF, _LENGTH),
    ),
    "optimisation": RulePreset(
        "Optimisation",
        "Gradient spikes, fast moves, clipping and updates that had to be skipped.",
        (*_default("grad_norm_spike", "policy_moves_fast", "skipped_updates", cooldown=10), _CLIPPED),
    ),
    "papers": RulePreset(
        "The papers' ladder",
        "Every sign that RAGEN's logs were searched for. Drifts are watched, first signs keep a checkpoint; critical "
        "and dead take two signs. It speaks in many healthy runs.",
        (*_default(*_EARLY, action="checkpoint", cooldown=10), *_UNEVEN, *_DRIFTS, *_SPIKE, *_RUNGS),
    ),
    "ragen": RulePreset(
        "RAGEN's early stop",
        "within-group reward std under a tenth of its start for ten steps, for comparison.",
        (_REWARD_STD,),
    ),
    "none": RulePreset("None", "No rules: nothing is raised.", ()),
}
