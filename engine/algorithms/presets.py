"""Algorithms by name, as changes to a `RunConfig`. No torch: forms and the command line read this.

A preset decides what makes an algorithm itself (estimator, clips, aggregation, KL, filter) and nothing else: problems,
sizes, learning rates and the entropy bonus stay as they are. Every preset decides the same fields, so that choosing
another leaves nothing of the first behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from engine.config import RunConfig
from engine.errors import ConfigError

Overrides = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """`title` is the label that a config carries in `preset`; `overrides` is `{section: {field: value}}`."""

    title: str
    one_line: str
    paper: str
    overrides: Overrides


def _overrides(
    *,
    estimator: str,
    scale_by_std: bool = True,
    kl_in_reward: float = 0.0,
    clip_high: float = 0.2,
    aggregation: str = "token_mean",
    kl_coefficient: float = 0.0,
    strategy: str = "none",
    value: float = 0.9,
    refill: int = 0,
    overlong_buffer: float = 0.0,
    critic_warmup_steps: int = 0,
) -> Overrides:
    return {
        "rollout": {"refill": refill, "overlong_buffer": overlong_buffer},
        "algorithm": {
            "estimator": estimator,
            "scale_by_std": scale_by_std,
            "gamma": 1.0,
            "lam": 1.0,
            "credit": "trajectory",
            "turn_discount": 1.0,
            "normalize_by": "none",
            "soft_reweighting": False,
            "length_weighting": False,
            "kl_in_reward": kl_in_reward,
        },
        "loss": {
            "clip_low": 0.2,
            "clip_high": clip_high,
            "aggregation": aggregation,
            "kl_coefficient": kl_coefficient,
            "kl_kind": "k3",
        },
        "filter": {
            "strategy": strategy,
            "value": value,
            "mode": "variance",
            "metric": "reward_variance",
            "largest": True,
            "include_zero": False,
            "loss_scaling": "none",
        },
        "optimizer": {"critic_warmup_steps": critic_warmup_steps},
    }


PRESETS: dict[str, Preset] = {
    "ppo": Preset(
        title="PPO",
        one_line="A critic says how good each token's state is; advantages are what came, less what it foresaw.",
        paper="arXiv 1707.06347, 1506.02438",
        overrides=_overrides(estimator="gae", critic_warmup_steps=2),
    ),
    "grpo": Preset(
        title="GRPO",
        one_line="No critic: a trajectory is judged against the others of its problem, each trajectory counting alike.",
        paper="arXiv 2402.03300",
        overrides=_overrides(estimator="grpo", aggregation="sequence_mean_token_mean"),
    ),
    "dr_grpo": Preset(
        title="Dr. GRPO",
        one_line="GRPO without dividing by spread or length, which favour problems of even outcome and long failures.",
        paper="arXiv 2503.20783",
        overrides=_overrides(estimator="dr_grpo", scale_by_std=False, aggregation="sequence_mean_token_sum_norm"),
    ),
    "dapo": Preset(
        title="DAPO",
        one_line="GRPO by the token: room for rare tokens, fresh problems where none differ, a cost of length, no KL.",
        paper="arXiv 2503.14476",
        overrides=_overrides(
            estimator="grpo", clip_high=0.28, strategy="top_p", value=1.0, refill=2, overlong_buffer=0.2
        ),
    ),
    "rloo": Preset(
        title="RLOO",
        one_line="A trajectory against the mean of the others of its problem, as one action; KL is charged to reward.",
        paper="arXiv 2402.14740",
        overrides=_overrides(estimator="rloo", aggregation="sequence_mean_token_sum_norm", kl_in_reward=0.01),
    ),
    "reinforce_plus_plus": Preset(
        title="REINFORCE++",
        one_line="No critic and no groups: reward still to come, evened over the step; KL is charged token by token.",
        paper="arXiv 2501.03262",
        overrides=_overrides(estimator="reinforce_plus_plus", kl_in_reward=0.01),
    ),
    "starpo": Preset(
        title="StarPO",
        # the paper's KL estimator is k1, whose expected gradient as a loss is 0; k3 does what was meant
        one_line="Whole multi-turn trajectories with a critic and a light pull to the start; tends to collapse.",
        paper="arXiv 2504.20073, sections 2.2 and 4.1",
        overrides=_overrides(estimator="gae", kl_coefficient=0.001, critic_warmup_steps=2),
    ),
    "starpo_s": Preset(
        title="StarPO-S",
        one_line="StarPO made stable: the most uncertain quarter of problems, a critic, no KL, a higher upper clip.",
        paper="arXiv 2504.20073, section 4.2",
        overrides=_overrides(estimator="gae", clip_high=0.28, strategy="top_k", value=0.25, critic_warmup_steps=2),
    ),
}


def find_preset(label: str) -> Preset | None:
    """The preset of a name or a title, None for `custom` and other labels."""
    return PRESETS.get(label) or next((preset for preset in PRESETS.values() if preset.title == label), None)


def apply_preset(name: str, base: dict[str, Any]) -> dict[str, Any]:
    """`base`, a config as data, with a preset's fields set over it; `base` is left as it is."""
    preset = find_preset(name)
    if preset is None:
        raise ConfigError(f"There is no preset {name!r}.", remedy=f"Use one of {', '.join(PRESETS)}.")
    merged = deepcopy(base)
    for section, fields in preset.overrides.items():
        merged[section] = {**merged.get(section, {}), **fields}
    return {**merged, "preset": preset.title}


def differences(config: RunConfig) -> dict[str, tuple[Any, Any]]:
    """`section.field` to `(the preset's value, the config's)` where a config departs from the preset it names.

    Empty when it does not, and for a config that names none.
    """
    preset = find_preset(config.preset)
    if preset is None:
        return {}
    found = {field: (value, _value_of(config, field)) for field, value in _flat(preset.overrides)}
    return {field: (theirs, ours) for field, (theirs, ours) in found.items() if theirs != ours}


def _flat(overrides: Overrides) -> Iterator[tuple[str, Any]]:
    for section, fields in overrides.items():
        for field, value in fields.items():
            yield f"{section}.{field}", value


def _value_of(config: RunConfig, dotted: str) -> Any:
    section, field = dotted.split(".")
    return getattr(getattr(config, section), field)
