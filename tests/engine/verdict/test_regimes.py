"""Regimes: borders from the first readings of a run, the regime of each reading, and when it began."""

from __future__ import annotations

import pytest

from engine.config import DetectorsConfig
from engine.diagnostics.rule_config import TemplateCollapseConfig
from engine.verdict.regimes import Reading, RegimeRule, RegimeTracker, borders_of, regime_map, regime_of, regime_rule
from engine.verdict.types import RegimeKey

RULE = RegimeRule(name="template_collapse", own=True, mi_share=0.6, entropy_share=0.5, baseline=2, mi_floor=0.2)
# H(Z|X) of 12 and 8 nats mean 10, MI / ln N of 0.4 and 0.6 mean 0.5, valid thoughts 1.0
FIRST = [Reading(1, 12.0, 0.4, 1.0), Reading(6, 8.0, 0.6, 1.0)]


def test_borders_are_shares_of_the_first_readings() -> None:
    borders = borders_of(FIRST, RULE)
    assert borders.entropy == pytest.approx(5.0)  # 0.5 x 10
    assert borders.blow_up == pytest.approx(15.0)  # 1.5 x 10
    assert borders.mutual_information == pytest.approx(0.3)  # 0.6 x 0.5
    assert borders.valid_thoughts == pytest.approx(0.9)  # 0.9 x 1
    assert borders.readings == 2


def test_a_start_below_the_floor_of_the_rule_counts_as_the_floor() -> None:
    # MI of 0.1 is below the floor of 0.2, of which 0.6 is 0.12
    assert borders_of([Reading(1, 10.0, 0.1, None)], RULE).mutual_information == pytest.approx(0.12)


@pytest.mark.parametrize(
    ("entropy", "mutual_information", "regime"),
    [
        (10.0, 0.5, "diverse"),
        (5.0, 0.3, "diverse"),  # on both borders
        (10.0, 0.29, "template_collapse"),
        (4.9, 0.5, "compressed"),
        (4.9, 0.29, "low_entropy_collapse"),
        (15.1, 0.5, "entropy_blow_up"),
        (15.1, 0.0, "entropy_blow_up"),
        (15.0, 0.5, "diverse"),
    ],
)
def test_each_reading_is_in_one_regime(entropy: float, mutual_information: float, regime: RegimeKey) -> None:
    assert regime_of(Reading(9, entropy, mutual_information, None), borders_of(FIRST, RULE)) == regime


def readings(*values: tuple[int, float, float, float]) -> list[dict[str, float]]:
    return [
        {"collapse/conditional_entropy": h, "collapse/mi_ratio": mi, "collapse/valid_thought_rate": valid}
        for _, h, mi, valid in values
    ]


VALUES = ((1, 12.0, 0.4, 1.0), (6, 8.0, 0.6, 1.0), (11, 10.0, 0.2, 1.0), (16, 9.0, 0.1, 0.8), (21, 16.0, 0.1, 0.9))


def test_the_tracker_knows_since_when_and_after_which_regime() -> None:
    tracker = RegimeTracker(RULE)
    found = []
    for (step, *_), metrics in zip(VALUES, readings(*VALUES), strict=True):
        tracker.add(step, metrics)
        tracker.add(step + 1, {"rollout/success": 0.5})  # a step without diagnostics
        assert tracker.regime is not None
        found.append((tracker.regime.key, tracker.regime.step, tracker.regime.since, tracker.regime.previous))
    assert found == [
        ("diverse", 1, 1, None),
        ("diverse", 6, 1, None),
        ("template_collapse", 11, 11, "diverse"),
        ("template_collapse", 16, 11, "diverse"),
        ("entropy_blow_up", 21, 21, "template_collapse"),
    ]


def test_the_format_is_broken_below_nine_tenths_of_the_first_valid_thoughts() -> None:
    tracker = RegimeTracker(RULE)
    broken = []
    for (step, *_), metrics in zip(VALUES, readings(*VALUES), strict=True):
        tracker.add(step, metrics)
        assert tracker.regime is not None
        broken.append(tracker.regime.format_broken)
    assert broken == [False, False, False, True, False]  # 0.8 is below 0.9, and 0.9 is not


def test_the_map_of_all_readings_agrees_with_the_tracker() -> None:
    tracker = RegimeTracker(RULE)
    for (step, *_), metrics in zip(VALUES, readings(*VALUES), strict=True):
        tracker.add(step, metrics)
    found = regime_map([Reading(step, h, mi, valid) for step, h, mi, valid in VALUES], RULE, "thought")
    assert found.borders == tracker.borders
    assert found.steps == [1, 6, 11, 16, 21]
    assert found.regimes == ["diverse", "diverse", "template_collapse", "template_collapse", "entropy_blow_up"]
    assert found.format_broken == [False, False, False, True, False]
    assert "MI / ln N: 0.3, 60% of the mean of the first 2 readings (0.5)" in found.explanation
    assert "H(Z|X): 5 nats per thought, 50% of the mean of the first 2 readings (10)" in found.explanation


def test_a_run_without_readings_has_an_empty_map() -> None:
    assert regime_map([], RULE, "thought").borders is None


def test_the_limits_are_those_of_the_runs_own_rule_or_else_of_the_default_one() -> None:
    own = TemplateCollapseConfig(
        name="mine", metric="collapse/mi_ratio", limit=0.7, baseline=4, floor=0.1,
        holding="collapse/conditional_entropy_token", holding_limit=0.4,
    )  # fmt: skip
    found = regime_rule(DetectorsConfig(rules=(own,)))
    assert found == RegimeRule(name="mine", own=True, mi_share=0.7, entropy_share=0.4, baseline=4, mi_floor=0.1)
    default = regime_rule(DetectorsConfig(rules=()))
    assert (default.name, default.own) == ("template_collapse", False)
