"""Steps of a run as the assessor reads them, and the verdict after them."""

from __future__ import annotations

from engine.config import EnvironmentConfig, RunConfig
from engine.verdict.assessor import Assessor, Settings
from engine.verdict.course import Metrics
from engine.verdict.held_out import Evaluation
from engine.verdict.types import Verdict

LAKE = "Lake"


def steps(*successes: float, std: float = 0.4, parse: float = 1.0) -> list[Metrics]:
    return [
        {"rollout/success": one, "reward/within_group_std": std, "rollout/parse_ok_rate": parse} for one in successes
    ]


def assessor(*, total_steps: int = 100) -> Assessor:
    return Assessor(Settings.of(RunConfig(environments=[EnvironmentConfig(tag=LAKE)]), total_steps=total_steps))


def verdict_on(
    metrics: list[Metrics], *, alert: str = "", held_out: tuple[Evaluation, ...] = (), total_steps: int = 100
) -> Verdict:
    """After all steps, with an alert of that severity at the newest one."""
    watching = assessor(total_steps=total_steps)
    for step, one in enumerate(metrics, start=1):
        watching.add_step(step, one)
    for evaluation in held_out:
        watching.add_evaluation(LAKE, evaluation)
    if alert:
        watching.add_alert(len(metrics), alert)
    verdict = watching.verdict()
    assert verdict is not None
    return verdict
