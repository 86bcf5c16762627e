"""Alerts that a verdict stands on: named, with their number first, for as long as they hold and ten steps more."""

from __future__ import annotations

from typing import Any

import pytest

from engine.events import EvaluationCompleted
from engine.verdict.types import AlertBasis
from engine.verdict.wording import number
from tests.engine.verdict.steps import LAKE, alert, assessor, steps, verdict_on

RISING = steps(*[0.2] * 10, *[0.5] * 10)


def reason(**changes: Any) -> str:
    return verdict_on(RISING, alerts=(alert(step=20, **changes),)).reason


def test_the_number_comes_first_with_its_limit() -> None:
    verdict = verdict_on(RISING, alerts=(alert(step=20, seq=7),))
    assert verdict.reason == "KL per update is 0.44 (limit 0.10). Alert kl_high at step 20."
    assert verdict.alert == AlertBasis(
        rule="kl_high", severity="warn", step=20, seq=7, metric="policy/kl", value=0.44, limit=0.1, baseline=0.1,
        compared_with="limit", holds=True,
    )  # fmt: skip


def test_a_number_that_fell_from_its_start_or_its_best_comes_with_that() -> None:
    said = reason(
        rule="template_collapse", metric="collapse/mi_ratio", value=0.42, limit=0.57, baseline=0.95,
        compared_with="start",
    )  # fmt: skip
    assert said == "Mutual information is 0.42 of its ceiling (0.95 at the start). Alert template_collapse at step 20."
    fell = {"rule": "success_fell", "metric": "rollout/success", "value": 0.023, "limit": 0.23, "baseline": 0.461}
    assert reason(**fell, compared_with="best") == (
        "Training success is 0.023 (0.46 at its best). Alert success_fell at step 20."
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.44, "0.44"), (0.0031, "0.0031"), (12.54, "12.5"), (1840.2, "1840"), (0, "0.00"), (-2.5, "-2.50")],
)
def test_numbers_are_as_exact_as_they_are_read(value: float, text: str) -> None:
    assert number(value) == text


def test_an_alert_without_a_limit_is_quoted() -> None:
    said = reason(rule="warnings_agree", limit=None, message="Success is 0.28, and 2 of 5 rules fire: a, b. Stop it.")
    assert said == "Success is 0.28, and 2 of 5 rules fire: a, b. Alert warnings_agree at step 20."


def test_the_worst_of_the_alerts_that_hold_is_named_before_the_others() -> None:
    alerts = (
        alert("critical", step=20, rule="warnings_agree", limit=None),
        alert("warn", step=20),
        alert(
            "critical",
            step=20,
            rule="format_breakdown",
            metric="rollout/parse_ok_rate",
            value=0.4,
            limit=0.5,
            baseline=0.5,
        ),
    )
    assert verdict_on(RISING, alerts=alerts).reason == (
        "The share of well-formed responses is 0.40 (limit 0.50). Alert format_breakdown at step 20, and kl_high "
        "and warnings_agree fired too."
    )


def test_an_alert_counts_until_its_metric_has_been_within_its_limit_for_ten_steps() -> None:
    watching = assessor()
    found = {}
    for step, one in enumerate(steps(*[0.2] * 10, *[0.6] * 40), start=1):
        high = 15 <= step <= 20
        watching.add_step(step, one | {"policy/kl": 0.3 if high else 0.02})
        if step == 17:
            watching.observe(alert(step=17, value=0.3))
        verdict = watching.verdict()
        assert verdict is not None
        found[step] = verdict
    assert [step for step, verdict in found.items() if verdict.label == "at_risk"] == list(range(17, 30))
    assert found[18].reason == "KL per update is 0.30 (limit 0.10). Alert kl_high at step 17."
    assert found[21].reason == (
        "KL per update was 0.30 at step 17 (limit 0.10) and is 0.02 now. Alert kl_high at step 17."
    )
    assert found[30].alert is None


def test_an_alert_without_a_limit_counts_for_ten_steps() -> None:
    watching = assessor()
    for step, one in enumerate(steps(*[0.2] * 10, *[0.6] * 40), start=1):
        watching.add_step(step, one)
        if step == 20:
            watching.observe(alert(step=20, limit=None))
        verdict = watching.verdict()
        assert verdict is not None
        assert (verdict.label == "at_risk") == (20 <= step <= 29)


def test_an_alert_on_held_out_success_counts_until_the_next_evaluation_is_within_its_limit() -> None:
    watching = assessor()

    def evaluate(step: int, successes: int) -> None:
        share = successes / 100
        watching.observe(
            EvaluationCompleted(
                step=step, environment=LAKE, episodes=100, successes=successes, success=share, low=share - 0.1,
                high=share + 0.1, mean_return=share, first_seed=0, temperature=1.0, seconds=0.0,
            )
        )  # fmt: skip

    labels = []
    for step, one in enumerate(steps(*[0.5] * 60), start=1):
        watching.add_step(step, one)
        if step == 20:
            evaluate(20, 45)
            watching.observe(alert(step=20, metric="eval/success", value=0.45, limit=0.48, baseline=0.48))
        if step == 40:
            evaluate(40, 50)
        verdict = watching.verdict()
        assert verdict is not None
        labels.append(verdict.label)
    assert [step for step, label in enumerate(labels, start=1) if label == "at_risk"] == list(range(20, 50))


def test_an_alert_comes_before_missing_success() -> None:
    verdict = verdict_on(steps(*[0.0] * 10), alerts=(alert(step=10),))
    assert (verdict.label, verdict.alert is not None) == ("at_risk", True)


def test_in_a_run_that_is_over_a_fall_comes_before_the_alert_on_it() -> None:
    fallen = steps(*[0.6] * 10, *[0.33] * 3)
    alerts = (alert(step=13),)
    assert verdict_on(fallen, alerts=alerts).label == "at_risk"
    assert verdict_on(fallen, alerts=alerts, ended=True).label == "degraded"
    only_alerted = verdict_on(RISING, alerts=(alert(step=20),), ended=True)
    assert (only_alerted.label, only_alerted.title) == ("at_risk", "Ended at risk")


def test_an_alert_after_its_step_belongs_to_that_step() -> None:
    watching = assessor()
    for step, one in enumerate(steps(*[0.3] * 24), start=1):
        watching.add_step(step, one)
        if step >= 22:
            watching.observe(alert(step=step))
    verdict = watching.verdict()
    assert verdict is not None
    assert (verdict.label, verdict.since) == ("at_risk", 22)
