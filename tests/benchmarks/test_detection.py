"""Evaluation of alert rules on the runs of the catalogue: families, degraded runs, and tables."""

from __future__ import annotations

import pytest

from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.detection import (
    CALM,
    FAST_BANDIT,
    REVERSED,
    Family,
    elsewhere,
    evaluate,
    family_of,
    is_degraded,
)
from benchmarks.science.detection_tables import rules_table
from engine.config import DetectorsConfig
from engine.diagnostics.recordings import Recording
from engine.diagnostics.rule_config import AboveConfig

KL = "policy/kl"
RULES = DetectorsConfig(rules=(AboveConfig(name="fast", metric=KL, limit=0.3, steps=1),))


def recording(name: str, success: list[float], kl: list[float] | None = None) -> Recording:
    moves = kl or [0.0] * len(success)
    steps = [
        (step, {"rollout/success": one, KL: move})
        for step, (one, move) in enumerate(zip(success, moves, strict=True), 1)
    ]
    return Recording(name=name, steps=steps)


@pytest.mark.parametrize(
    ("success", "degraded"),
    [
        ([0.5] * 5 + [0.3] * 5, False),  # 0.3 is more than half of 0.5
        ([0.5] * 5 + [0.2] * 5, True),
        ([0.5] * 5 + [0.0] * 5, False),  # that is a collapse
        ([0.04] * 10, True),  # never had any
        ([0.1] * 5 + [0.6] * 5, False),
    ],
)
def test_a_run_that_lost_more_than_half_of_its_success_or_never_had_any_is_degraded(
    success: list[float], degraded: bool
) -> None:
    assert is_degraded(recording("run", success)) is degraded


def test_runs_belong_to_one_family_by_what_was_changed() -> None:
    def families(name: str) -> set[str]:
        return {family_of(EXPERIMENTS[name], config) for _, _, config in EXPERIMENTS[name].runs()}

    assert families("format_without_thoughts") == {CALM, REVERSED}
    assert families("stability_bandit") == {FAST_BANDIT}
    assert families("filter_mass") == {CALM}


def test_hits_late_alerts_false_alarms_and_degraded_runs_are_counted_separately() -> None:
    gone = [0.5, 0.5, 0.5, *[0.0] * 5]  # from step 4 on
    early, late = [0.0, 0.4, *[0.0] * 6], [*[0.0] * 5, 0.4, 0.0, 0.0]
    fast = Family(
        clear=[recording("hit", gone, early), recording("late", gone, late), recording("calm", [0.5] * 8)],
        degraded=[recording("hurt", [0.5] * 5 + [0.2] * 5, [0.4] * 10)],
    )
    calm = Family(clear=[recording("false", [0.5] * 8, early)], degraded=[])
    # one of two collapses two steps ahead, one late; one of one intact run is silent; Wilson's interval of 1 of 2
    row = "| fast | 1/2 [0.09, 0.91] | 2 | 1 | 0/1 [0.00, 0.79] | 0.0/1 | 1/1 |"
    assert rules_table(evaluate(RULES, fast)).splitlines()[-1] == row
    assert evaluate(RULES, calm)[0].clear.false_alarms == 1
    assert [one.name for one in elsewhere({"fast": fast, "calm": calm}, "fast")] == ["false"]
