"""Steps of a run as the assessor reads them, and the verdict after them."""

from __future__ import annotations

from typing import Any

from engine.config import EnvironmentConfig, RolloutConfig, RunConfig
from engine.events import AlertRaised
from engine.verdict.assessor import Assessor, Settings
from engine.verdict.course import Metrics
from engine.verdict.held_out import Evaluation
from engine.verdict.types import Severity, Verdict

LAKE = "Lake"


def steps(*successes: float, std: float = 0.4, parse: float = 1.0) -> list[Metrics]:
    return [
        {"rollout/success": one, "reward/within_group_std": std, "rollout/parse_ok_rate": parse} for one in successes
    ]


def assessor(*, total_steps: int = 100, groups: int = 16) -> Assessor:
    config = RunConfig(environments=[EnvironmentConfig(tag=LAKE)], rollout=RolloutConfig(groups=groups))
    return Assessor(Settings.of(config, total_steps=total_steps))


def alert(severity: Severity = "warn", *, step: int, **changes: Any) -> AlertRaised:
    """On KL per update, over a fixed limit."""
    values = {
        "message": "KL is high. Do something.",
        "metric": "policy/kl",
        "value": 0.44,
        "baseline": 0.1,
        "limit": 0.1,
    }
    return AlertRaised.model_validate({"step": step, "rule": "kl_high", "severity": severity, **values, **changes})


def verdict_on(
    metrics: list[Metrics],
    *,
    alerts: tuple[AlertRaised, ...] = (),
    held_out: tuple[Evaluation, ...] = (),
    total_steps: int = 100,
    ended: bool = False,
) -> Verdict:
    """After all steps, with alerts at the newest one."""
    watching = assessor(total_steps=total_steps)
    for step, one in enumerate(metrics, start=1):
        watching.add_step(step, one)
    for evaluation in held_out:
        watching.add_evaluation(LAKE, evaluation)
    for one_alert in alerts:
        watching.observe(one_alert)
    if ended:
        watching.end()
    verdict = watching.verdict()
    assert verdict is not None
    return verdict
