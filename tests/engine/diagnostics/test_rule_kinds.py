"""Each kind of rule on numbers worked out by hand, what cannot be a rule, and what follows an alert."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from engine.config import DetectorsConfig, RunConfig, StopConfig, build_config
from engine.diagnostics.alerts import AlertDraft, Detection
from engine.diagnostics.detectors import KINDS, Detectors, build_detectors
from engine.diagnostics.rule_config import RULE, RULE_CONFIGS, Bounds, LimitRule, RuleConfig
from engine.errors import ConfigError

SUCCESS, KL = "rollout/success", "policy/kl"
MI, ENTROPY = "collapse/mi_ratio", "collapse/conditional_entropy_token"


def rule(**changes: Any) -> RuleConfig:
    return RULE.validate_python({"name": "mine", "kind": "above", "metric": KL, "limit": 0.1, **changes})


def detectors(*rules: RuleConfig, **actions: Any) -> Detectors:
    return build_detectors(StopConfig(), DetectorsConfig(rules=rules, **actions))


def verdicts(watching: Detectors, steps: list[dict[str, float]], *, after: int = 0) -> list[Detection]:
    return [watching.observe(number, metrics) for number, metrics in enumerate(steps, start=after + 1)]


def alerts(watching: Detectors, steps: list[dict[str, float]], *, after: int = 0) -> list[tuple[int, AlertDraft]]:
    found = verdicts(watching, steps, after=after)
    return [(number, alert) for number, verdict in enumerate(found, start=1) for alert in verdict.alerts]


def fired(one: RuleConfig, values: list[float]) -> list[int]:
    """The steps at which a rule speaks over the values of its metric."""
    return [number for number, _ in alerts(detectors(one), [{one.metric: value} for value in values])]


def test_every_kind_has_a_rule_and_a_config() -> None:
    assert list(KINDS) == list(RULE_CONFIGS)


def test_the_bounds_of_a_limit_are_those_of_its_field() -> None:
    inf = float("inf")
    bounds = {kind: one.bounds() for kind, one in RULE_CONFIGS.items() if issubclass(one, LimitRule)}
    assert bounds["below"] == Bounds(-inf, inf)
    assert bounds["falls"] == Bounds(0, 1)
    assert bounds["spike"] == Bounds(1, inf)


def test_a_kind_has_only_the_fields_that_it_reads() -> None:
    shared = {"name", "kind", "metric", "steps", "recovery", "cooldown", "severity", "action", "subject", "advice"}
    own = {kind: set(one.model_fields) - shared for kind, one in RULE_CONFIGS.items()}
    assert own == {
        "below": {"limit", "mean_over"},
        "above": {"limit", "mean_over"},
        "falls": {"limit", "mean_over", "baseline", "floor"},
        "rises": {"limit", "mean_over", "baseline", "floor"},
        "gains": {"limit", "mean_over", "baseline"},
        "falls_from_best": {"limit", "mean_over", "window", "floor", "beyond_noise"},
        "falls_significantly": set(),
        "spike": {"limit", "window"},
        "z_score": {"limit", "window", "floor"},
        "reward_std_collapsed": {"limit", "baseline", "floor"},
        "no_signal": set(),
        "template_collapse": {"limit", "baseline", "floor", "holding", "holding_limit"},
        "agreement": {"limit", "among"},
    }


def test_above_speaks_after_so_many_steps_over_its_limit() -> None:
    assert fired(rule(steps=3), [0.2, 0.2, 0.1, 0.2, 0.2, 0.2, 0.2]) == [6]


def test_gains_adds_its_limit_to_the_mean_of_the_first_readings() -> None:
    # the baseline is (0.125 + 0.375) / 2 = 0.25, so 0.5 is not over 0.25 + 0.25 and 0.51 is
    assert fired(rule(kind="gains", limit=0.25, baseline=2, steps=1), [0.125, 0.375, 0.5, 0.51]) == [4]


def test_a_rise_from_nothing_has_no_ratio() -> None:
    rising = {"kind": "rises", "limit": 2, "baseline": 1, "steps": 1}
    assert fired(rule(**rising), [0.0, 5.0]) == []
    assert fired(rule(**rising), [0.1, 5.0]) == [2]


def test_a_fall_from_too_low_a_baseline_does_not_count() -> None:
    falling = {"kind": "falls", "limit": 0.5, "baseline": 1, "steps": 1}
    assert fired(rule(**falling), [0.1, 0.01]) == [2]
    assert fired(rule(**falling, floor=0.2), [0.1, 0.01]) == []


def test_a_fall_from_the_best_is_of_the_best_window_and_of_fewer_readings_at_first() -> None:
    falling = {"kind": "falls_from_best", "limit": 0.5, "window": 2, "steps": 1}
    assert fired(rule(**falling), [0.4, 0.19]) == [2]
    # the best two readings mean 0.5, so 0.25 is not below its half
    assert fired(rule(**falling), [0.4, 0.5, 0.5, 0.25, 0.24]) == [5]
    # the mean of two: (0.5 + 0.02) / 2 = 0.26, then (0.02 + 0.02) / 2
    assert fired(rule(**falling, mean_over=2), [0.5, 0.5, 0.02, 0.02]) == [4]


def evaluations(*rates: tuple[float, float, float]) -> list[dict[str, float]]:
    return [{"eval/success": rate, "eval/success_low": low, "eval/success_high": high} for rate, low, high in rates]


def test_held_out_success_falls_significantly_when_the_interval_of_the_difference_is_below_0() -> None:
    # 0.34 - 0.53 = -0.19, and sqrt(0.08² + 0.09²) = 0.12; of 0.45 - 0.53 = -0.08 the interval contains 0
    one = RULE.validate_python({"name": "held", "kind": "falls_significantly", "steps": 1})
    readings = evaluations((0.53, 0.44, 0.62), (0.45, 0.37, 0.53), (0.34, 0.26, 0.42))
    watching = detectors(one)
    found = [watching.observe_evaluation(5 * index, metrics).alerts for index, metrics in enumerate(readings)]
    assert found[:2] == [[], []]
    [alert] = found[2]
    assert (alert.value, alert.baseline, alert.compared_with) == (0.34, 0.53, "best")
    assert "0.34 [0.26, 0.42], significantly below 0.53 [0.44, 0.62] in the first evaluation" in alert.message
    again = detectors(one)
    again.load_state_dict(json.loads(json.dumps(watching.state_dict())))
    assert again.state_dict() == watching.state_dict()


def test_only_held_out_success_can_fall_significantly() -> None:
    with pytest.raises(ValidationError, match="reads held-out success"):
        RULE.validate_python({"name": "mine", "kind": "falls_significantly", "metric": SUCCESS})


def test_a_z_score_is_in_standard_deviations_of_the_readings_before_in_either_direction() -> None:
    # of 1, 3, 1, 3 the mean is 2 and the standard deviation 1
    far = {"kind": "z_score", "limit": 3, "window": 4, "steps": 1}
    assert fired(rule(**far), [1, 3, 1, 3, 4.9]) == []
    assert fired(rule(**far), [1, 3, 1, 3, 5.1]) == [5]
    assert fired(rule(**far), [1, 3, 1, 3, -1.1]) == [5]
    assert fired(rule(**far, floor=4), [1, 3, 1, 3, 6]) == []
    assert fired(rule(**far, floor=4), [1, 3, 1, 3, 6.1]) == [5]


def test_a_spike_is_measured_against_the_median_of_its_own_window() -> None:
    # the median of 1, 1, 4 is 1
    assert fired(rule(kind="spike", limit=5, window=3, steps=1), [1, 1, 4, 5.1]) == [4]


TEMPLATES = rule(
    kind="template_collapse", metric=MI, limit=0.6, baseline=2, steps=1, holding=ENTROPY, holding_limit=0.5
)


def readings(*pairs: tuple[float, float]) -> list[dict[str, float]]:
    return [{MI: mi, ENTROPY: entropy} for mi, entropy in pairs]


def test_mutual_information_that_falls_while_entropy_holds_is_template_collapse() -> None:
    # baselines are 0.9 and 0.5: 0.53 is under 0.6 * 0.9 = 0.54, and 0.25 is half of 0.5
    [(step, alert)] = alerts(detectors(TEMPLATES), readings((0.95, 0.5), (0.85, 0.5), (0.55, 0.5), (0.53, 0.25)))
    assert (step, alert.baseline) == (4, pytest.approx(0.9))


def test_a_fall_of_both_is_not_template_collapse() -> None:
    assert alerts(detectors(TEMPLATES), readings((0.9, 0.5), (0.9, 0.5), (0.1, 0.24))) == []


def test_steps_without_diagnostics_change_nothing() -> None:
    steps = [step for pair in readings((0.9, 0.5), (0.9, 0.5), (0.1, 0.5)) for step in (pair, {SUCCESS: 0.4})]
    assert [number for number, _ in alerts(detectors(TEMPLATES), steps)] == [5]


@pytest.mark.parametrize("every", [1, 2, 5])
def test_the_default_rules_warn_of_lost_information_before_success_is_gone(every: int) -> None:
    """It falls from 0.95 to 0.1 of its ceiling over ten steps, responses stay well-formed, success goes at the end."""
    healthy = {SUCCESS: 0.4, "reward/within_group_std": 0.4, "rollout/parse_ok_rate": 0.95, "policy/entropy": 1.0}
    falling = [0.95 - 0.085 * i for i in range(11)]
    shares = [0.95] * 15 + falling + [0.1] * 5
    steps = [
        healthy | ({MI: share, ENTROPY: 0.5} if index % every == 0 else {}) for index, share in enumerate(shares)
    ] + [healthy | {SUCCESS: 0.0}] * 10
    found = alerts(build_detectors(StopConfig()), steps)
    first = {alert.rule: (number, alert.severity) for number, alert in reversed(found)}
    assert first["template_collapse"][1] == "warn"
    assert first["template_collapse"][0] <= 26  # the fall ends at step 26, success at 32
    assert min(number for number, _ in found) == first["template_collapse"][0]


def agreement(**changes: Any) -> DetectorsConfig:
    two = (rule(name="a", steps=1), rule(name="b", steps=1, metric="policy/entropy"))
    both = rule(name="both", kind="agreement", metric=SUCCESS, limit=2, among=("a", "b"), steps=1, severity="critical")
    return DetectorsConfig(rules=(both, *two), **changes)


def test_two_warnings_at_once_are_critical_and_one_is_not() -> None:
    watching = build_detectors(StopConfig(), agreement())
    calm = {KL: 0.0, "policy/entropy": 0.0, SUCCESS: 0.3}
    found = alerts(watching, [calm | {KL: 1.0}, calm, calm | {"policy/entropy": 1.0}, calm | {KL: 1.0}])
    assert [(number, alert.rule) for number, alert in found] == [(1, "a"), (3, "b"), (4, "a")]
    found = alerts(watching, [{KL: 1.0, "policy/entropy": 1.0, SUCCESS: 0.3}])
    [(_, alert)] = [one for one in found if one[1].rule == "both"]
    assert alert.severity == "critical"
    assert "2 of 2 rules fire: a, b" in alert.message


def test_what_follows_an_alert_goes_by_its_severity_unless_the_rule_says() -> None:
    rules = (rule(name="a", steps=1, severity="warn"), rule(name="b", steps=1, severity="dead", action="pause"))
    [verdict] = verdicts(detectors(*rules, warn_action="checkpoint", dead_action="stop"), [{KL: 1.0}])
    assert [alert.action for alert in verdict.alerts] == ["checkpoint", "pause"]
    assert verdict.requests("checkpoint") and verdict.requests("pause") and not verdict.requests("stop")
    assert verdict.stop is None


def test_a_rule_that_stops_gives_its_name_and_finding_as_the_reason() -> None:
    [verdict] = verdicts(detectors(rule(steps=1, action="stop", subject="KL")), [{KL: 1.0}])
    assert verdict.ending == "collapsed"
    assert verdict.stop == "mine: KL is 1, above 0.1."


@pytest.mark.parametrize(("success", "ending"), [(0.99, "converged"), (0.2, "collapsed")])
def test_a_stop_for_lost_reward_std_distinguishes_converged_from_collapsed(success: float, ending: str) -> None:
    std = "reward/within_group_std"
    lost = rule(kind="reward_std_collapsed", metric=std, limit=0.1, steps=10, action="stop")
    healthy, late = {SUCCESS: 0.5, std: 0.4}, {SUCCESS: success, std: 0.0}
    assert verdicts(detectors(lost), [healthy] * 10 + [late] * 10)[-1].ending == ending


def test_no_rules_raise_nothing() -> None:
    assert alerts(detectors(), [{SUCCESS: 0.0, "reward/within_group_std": 0.0}] * 20) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"metric": "rollout/sucess"}, "there is no metric 'rollout/sucess'"),
        ({"kind": "no_signal", "metric": "eval/success", "limit": 0}, "which have no eval/ metrics"),
        ({"kind": "spike", "limit": 2, "mean_over": 3}, "mean_over\n  Extra inputs"),
        ({"kind": "falls", "limit": 1.5}, "less than 1"),
        ({"kind": "rises", "limit": 0.5}, "greater than 1"),
        ({"kind": "template_collapse", "limit": 0.5}, "holding\n  Field required"),
        ({"kind": "no_signal"}, "limit\n  Extra inputs"),
        ({"holding": ENTROPY}, "holding\n  Extra inputs"),
        ({"among": ["a"]}, "among\n  Extra inputs"),
        ({"kind": "agreement", "limit": 2}, "among\n  Field required"),
        ({"kind": "sinks"}, "'sinks' found using 'kind'"),
        ({"kind": "agreement", "limit": 3, "among": ["a", "b"]}, "3 of 2 rules can never fire"),
        ({"severity": "grave"}, "severity"),
        ({"name": "Two words"}, "name"),
    ],
)
def test_a_rule_that_cannot_work_is_refused_with_its_reason(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        rule(**changes)


def test_rules_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"detectors.*several are named mine"):
        build_config({"detectors": {"rules": [rule().model_dump(), rule().model_dump()]}})
    lonely = rule(kind="agreement", limit=2, among=("mine", "other"), name="both")
    with pytest.raises(ConfigError, match="counts other, which is not a rule"):
        build_config({"detectors": {"rules": [rule().model_dump(), lonely.model_dump()]}})


def test_rules_survive_the_way_through_a_file() -> None:
    config = RunConfig()
    assert build_config(json.loads(config.model_dump_json())) == config


TROUBLED = [
    {KL: 0.01 * i, SUCCESS: 0.4, MI: 0.9 - 0.05 * (i % 17), ENTROPY: 0.5, "policy/entropy": 0.2 + i % 5}
    for i in range(30)
]
EVERY_KIND = (
    TEMPLATES,
    rule(name="z", kind="z_score", limit=1.2, window=5, steps=1, metric="policy/entropy"),
    rule(name="g", kind="gains", limit=0.05, baseline=3),
    rule(name="s", kind="spike", limit=2, window=6, steps=1, metric="policy/entropy"),
    rule(name="all", kind="agreement", metric=SUCCESS, limit=2, among=("mine", "z", "g", "s"), steps=1),
)


@pytest.mark.parametrize("interrupted_after", range(1, 30, 4))
def test_rules_go_on_from_a_checkpoint_as_if_never_interrupted(interrupted_after: int) -> None:
    whole = alerts(detectors(*EVERY_KIND), TROUBLED)
    first, second = detectors(*EVERY_KIND), detectors(*EVERY_KIND)
    before = alerts(first, TROUBLED[:interrupted_after])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    after = alerts(second, TROUBLED[interrupted_after:], after=interrupted_after)
    assert {alert.rule for _, alert in whole} == {"mine", "z", "g", "s", "all"}
    assert [alert for _, alert in before + after] == [alert for _, alert in whole]
