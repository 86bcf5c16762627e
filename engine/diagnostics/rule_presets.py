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
    subject="The share of replies that are cut off",
    advice="Raise max_reply_tokens, or let long replies cost something (rollout.overlong_buffer).",
)  # fmt: skip
_LENGTH = RuleConfig(
    name="reply_length", kind="z_score", metric="rollout/reply_tokens", severity="watch", steps=3, limit=4.0, window=20,
    floor=5.0, cooldown=20, subject="The length of replies", advice="Read some: they may ramble, or stop thinking.",
)  # fmt: skip
_CLIPPED = RuleConfig(
    name="clipped", kind="above", metric="policy/clip_fraction", severity="warn", steps=5, limit=0.3, cooldown=20,
    subject="The share of clipped tokens", advice="Updates go further than the clip allows: lower the learning rate.",
)  # fmt: skip
_SKIPPED = RuleConfig(
    name="skipped_updates", kind="above", metric="optim/skipped_updates", severity="critical", steps=1, limit=0.0,
    cooldown=10, subject="The number of updates with no finite gradient",
    advice="Lower the learning rate, or go on from a checkpoint before it.",
)  # fmt: skip
_SPREAD = RuleConfig(
    name="in_group_std_gone", kind="falls", metric="reward/in_group_std", severity="dead", steps=10, limit=0.1,
    action="stop", subject="The spread of returns within groups",
    advice="This is RAGEN's early stop. It cannot tell a solved puzzle from a dead policy.",
)  # fmt: skip

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
    "replies": RulePreset(
        "Format and length",
        "Malformed, cut-off, much longer or much shorter replies, and actions that do not exist.",
        (*_default("format_breakdown", "invalid_actions", "thoughts_lost"), _CUT_OFF, _LENGTH),
    ),
    "optimisation": RulePreset(
        "Optimisation",
        "Gradient spikes, fast moves, clipping and updates that had to be skipped.",
        (*_default("grad_norm_spike", "policy_moves_fast", cooldown=10), _CLIPPED, _SKIPPED),
    ),
    "ragen": RulePreset(
        "RAGEN's early stop", "In-group spread under a tenth of its start for ten steps, for comparison.", (_SPREAD,)
    ),
    "none": RulePreset("None", "No rules: nothing is raised.", ()),
}
