"""What the rules of a new run and the papers' ladder say of made-up courses, worked out by hand."""

from __future__ import annotations

import pytest

from engine.config import DetectorsConfig, StopConfig
from engine.diagnostics.detectors import build_detectors
from engine.diagnostics.rule_presets import RULE_PRESETS
from engine.metrics import describe

SUCCESS, REWARD_STD, NORM = "rollout/success", "reward/within_group_std", "optim/grad_norm"
SOUND = {
    SUCCESS: 0.4,
    REWARD_STD: 0.4,
    NORM: 1.0,
    "optim/skipped_updates": 0.0,
    "policy/kl": 0.01,
    "policy/entropy": 1.0,
    "rollout/zero_variance_share": 0.3,
    "rollout/parse_ok_rate": 0.95,
    "rollout/invalid_action_rate": 0.0,
    "collapse/valid_thought_rate": 1.0,
    "collapse/retrieval_accuracy": 0.8,
    "collapse/mi_zscore_ema": 2.0,
    "collapse/mi_token_compat": 1.0,
    "collapse/conditional_entropy_token": 0.5,
}


def said(preset: str, *steps: dict[str, float]) -> list[tuple[int, str, str]]:
    """`(step, rule, severity)` of each alert."""
    watching = build_detectors(StopConfig(), DetectorsConfig(rules=RULE_PRESETS[preset].rules))
    return [
        (number, alert.rule, alert.severity)
        for number, metrics in enumerate(steps, start=1)
        for alert in watching.observe(number, metrics).alerts
    ]


@pytest.mark.parametrize("preset", RULE_PRESETS)
def test_no_set_says_anything_of_a_run_that_stays_as_it_is(preset: str) -> None:
    assert said(preset, *[SOUND] * 60) == []


@pytest.mark.parametrize("preset", [name for name, one in RULE_PRESETS.items() if one.rules])
def test_every_limit_is_one_that_its_metric_can_pass(preset: str) -> None:
    limits = [(rule, describe(rule.metric)) for rule in RULE_PRESETS[preset].rules if rule.kind in ("above", "below")]
    never = [
        rule.name
        for rule, metric in limits
        if (rule.kind == "above" and metric.high is not None and rule.limit >= metric.high)
        or (rule.kind == "below" and metric.low is not None and rule.limit <= metric.low)
    ]
    assert never == []


@pytest.mark.parametrize("preset", ["standard", "optimisation"])
def test_updates_without_a_finite_gradient_are_critical_though_their_norm_is_no_number(preset: str) -> None:
    skipped = {name: value for name, value in SOUND.items() if name != NORM} | {"optim/skipped_updates": 2.0}
    # once, however long it lasts
    assert said(preset, *[SOUND] * 3, *[skipped] * 10) == [(4, "skipped_updates", "critical")]


@pytest.mark.parametrize(
    ("metric", "values", "expected"),
    [
        ("rollout/zero_variance_share", [0.3] * 2 + [0.61] * 3, (5, "zero_variance_groups", "warn")),
        ("policy/kl", [0.01] * 2 + [-0.11] * 3, (5, "kl_negative", "warn")),
        ("policy/kl", [0.01] * 2 + [0.11] * 3, (5, "kl_high", "warn")),
        # the mean of the first three is 0.5: 0.25 is half of it, and not under it
        ("collapse/retrieval_accuracy", [0.5] * 3 + [0.25, 0.24, 0.24], (6, "retrieval_low", "watch")),
        ("collapse/mi_zscore_ema", [1.0, 2.0, 3.0, 1.0, 0.99], (5, "mi_zscore_low", "watch")),
        ("collapse/mi_token_compat", [1.0, 2.0, 3.0, 3.0, 3.01], (5, "mi_inflated", "watch")),
        ("collapse/conditional_entropy_token", [0.5] * 3 + [0.75, 0.76], (5, "conditional_entropy_high", "watch")),
        ("policy/entropy", [1.0] * 10 + [0.5, 0.49], (12, "entropy_halved", "watch")),
        (REWARD_STD, [0.4] * 10 + [0.039] * 10, (20, "reward_std_low", "watch")),
    ],
)
def test_each_sign_of_the_papers_ladder_speaks_at_its_limit(
    metric: str, values: list[float], expected: tuple[int, str, str]
) -> None:
    assert said("papers", *[SOUND | {metric: value} for value in values]) == [expected]


def test_truncated_responses_are_noticed_from_a_tenth_more_on() -> None:
    cut_off = [SOUND | {"rollout/cut_off_rate": share} for share in (*[0.02] * 5, *[0.12] * 3, *[0.13] * 3)]
    assert said("responses", *cut_off) == [(11, "cut_off", "warn")]


def test_a_spike_of_the_gradient_is_critical_once_success_falls() -> None:
    # 6 is over 5 times the median 1. Of ten steps the mean falls under 0.75 x 0.4 = 0.3 at the third zero:
    # 7 x 0.4 / 10 = 0.28; under half, 0.2, at the sixth: 0.16
    spiked = [SOUND] * 12 + [SOUND | {NORM: 6.0}] + [SOUND] * 5
    assert said("papers", *spiked) == [(13, "gradient_spike", "watch")]
    found = said("papers", *spiked, *[SOUND | {SUCCESS: 0.0}] * 5)
    assert found == [
        (13, "gradient_spike", "watch"), (21, "success_falls", "watch"), (21, "spike_and_fall", "critical"),
    ]  # fmt: skip


def test_a_vanished_reward_std_is_dead_only_with_success_below_half_its_best() -> None:
    solved = [SOUND] * 12 + [SOUND | {REWARD_STD: 0.01, SUCCESS: 0.95}] * 20
    assert said("papers", *solved) == [(22, "reward_std_low", "watch")]
    dead = [SOUND] * 12 + [SOUND | {REWARD_STD: 0.01, SUCCESS: 0.0}] * 10
    assert said("papers", *dead) == [
        (15, "success_falls", "watch"), (18, "success_halved", "warn"), (22, "reward_std_low", "watch"),
        (22, "reward_std_and_success_gone", "dead"),
    ]  # fmt: skip


@pytest.mark.parametrize("preset", [name for name, one in RULE_PRESETS.items() if one.rules])
def test_every_preset_that_watches_anything_warns_of_a_sampler_that_differs_from_the_learner(preset: str) -> None:
    differs = {**SOUND, "policy/sampler_kl": 0.03}  # above 0.02, in three steps
    assert said(preset, *[SOUND] * 3, *[differs] * 3) == [(6, "sampler_kl", "warn")]
