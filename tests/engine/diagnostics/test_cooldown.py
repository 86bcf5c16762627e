"""A rule that flaps raises one alert per cooldown; an incident that outlasts it is reported at its end."""

from __future__ import annotations

import json

from engine.config import DetectorsConfig
from engine.diagnostics.default_rules import DEFAULT_RULES
from tests.engine.diagnostics.test_rule_kinds import KL, alerts, detectors, fired, rule

BAD, GOOD = 0.2, 0.0


def test_without_a_cooldown_every_incident_is_reported() -> None:
    assert fired(rule(steps=1), [BAD, GOOD, BAD, GOOD, BAD]) == [1, 3, 5]


def test_within_a_cooldown_no_other_alert_is_raised() -> None:
    # raised at 1; 4 readings later, at 5, it may raise another
    assert fired(rule(steps=1, cooldown=4), [BAD, GOOD, BAD, GOOD, BAD, GOOD, BAD]) == [1, 5]


def test_an_incident_that_outlasts_the_cooldown_is_reported_at_its_end() -> None:
    # a second episode begins at 3 and stays; the cool-down of 1 ends at 6
    assert fired(rule(steps=1, cooldown=5), [BAD, GOOD, BAD, BAD, BAD, BAD, BAD, BAD]) == [1, 6]


def test_an_incident_that_is_over_by_then_is_not_reported() -> None:
    assert fired(rule(steps=1, cooldown=4), [BAD, GOOD, BAD, GOOD, GOOD, GOOD, GOOD]) == [1]


def test_a_checkpoint_carries_the_cooldown() -> None:
    one = rule(steps=1, cooldown=4)
    before = detectors(one)
    before.observe(1, {KL: BAD})
    after = detectors(one)
    after.load_state_dict(json.loads(json.dumps(before.state_dict())))
    steps = [{KL: value} for value in (GOOD, BAD, GOOD, BAD)]
    assert [number for number, _ in alerts(after, steps)] == [4]


def test_other_rules_keep_what_a_rule_has_seen_where_it_looks_at_the_same() -> None:
    base = {"kind": "gains", "limit": 0.1, "baseline": 2, "steps": 1}
    watching = detectors(rule(**base), rule(**base, name="other"))
    for step, value in enumerate([0.1, 0.3], start=1):  # a baseline of 0.2
        watching.observe(step, {KL: value})
    stricter, wider = rule(**{**base, "limit": 0.05}), rule(**{**base, "baseline": 3}, name="other")
    after = watching.with_config(DetectorsConfig(rules=(stricter, wider)))
    # over 0.2 + 0.05; the other needs three first readings again
    assert [alert.rule for _, alert in alerts(after, [{KL: 0.26}])] == ["mine"]


def test_a_share_of_templates_that_goes_up_and_down_around_its_limit_is_one_alert() -> None:
    """The baseline of two readings is 0.1, so 0.3 more is breached at 0.45 and not at 0.35. Five readings in a row
    below it resolve the incident, and the next one is another."""
    templates = next(rule for rule in DEFAULT_RULES if rule.name == "templates_rise")
    shares = [0.1, 0.1, 0.45, 0.35, 0.45, 0.35, 0.35, 0.45, *[0.35] * 4, 0.45, *[0.35] * 5, 0.45]
    steps = [{templates.metric: share} for share in shares]
    assert [number for number, _ in alerts(detectors(templates), steps)] == [3, len(shares)]
