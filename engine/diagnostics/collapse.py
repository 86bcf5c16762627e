"""The detectors of a run: rules that raise alerts, and stops that end it. No torch.

What each rule watches for is in RAGEN's two papers (arXiv 2504.20073 section 4, arXiv 2604.06268 section 5). They give
no portable limits; the numbers here are ours, and each alert shows the one it used. The ladder: *watch* (look),
*warn* (act soon), *critical* (it is breaking), *dead* (it cannot learn any more).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.config import StopConfig
from engine.diagnostics.alerts import Metrics, Verdict
from engine.diagnostics.rules import (
    AgainstBaseline,
    Below,
    FellFromBest,
    NoSignal,
    Rule,
    Spike,
    SpreadLost,
    without_signal,
)

_GENTLER = "Lower optimizer.learning_rate or the clip, and go on from a checkpoint before it."


def build_rules() -> dict[str, Rule]:
    """Fresh rules by name."""
    return {
        "no_signal": NoSignal(
            metric="rollout/success", severity="dead", steps=5, subject="Training success",
            advice="No update can change that: stop, and go on from a checkpoint before it, or take easier puzzles.",
        ),
        "format_breakdown": Below(
            metric="rollout/parse_ok_rate", severity="critical", steps=3, limit=0.5,
            subject="The share of well-formed replies",
            advice=f"Read some replies: they may be cut off, or noise. {_GENTLER}",
        ),
        "success_fell": FellFromBest(
            metric="rollout/success", severity="critical", steps=1, recovery=5, share=0.5, floor=0.05,
            subject="Training success", advice=_GENTLER,
        ),
        "in_group_std_low": SpreadLost(
            metric="reward/in_group_std", severity="warn", steps=10, share=0.1,
            subject="The spread of returns within groups",
            advice="Groups no longer disagree, so they teach nothing: raise the temperature or vary the puzzles.",
        ),
        "entropy_low": AgainstBaseline(
            metric="policy/entropy", severity="warn", steps=5, share=0.2, subject="Policy entropy",
            advice="It hardly explores any more; if success is not where it should be, raise loss.clip_high or "
            "loss.entropy_coefficient.",
        ),
        "entropy_high": AgainstBaseline(
            metric="policy/entropy", severity="warn", steps=3, share=3.0, subject="Policy entropy",
            advice=f"Replies are turning into noise. {_GENTLER}",
        ),
        "grad_norm_spike": Spike(
            metric="optim/grad_norm", severity="watch", steps=3, times=5.0, subject="The gradient norm",
            advice="Such spikes often come before a collapse that cannot be undone: save a checkpoint, watch success.",
        ),
    }  # fmt: skip


@dataclass(slots=True)
class ZeroSignalDetector:
    """Ends the run after `limit` steps in a row without success and without in-group spread; 0 never does.

    It is *dead*, not *converged*: a solved run has success. The reason says whether the format broke as well.
    """

    limit: int
    steps: int = 0

    def observe(self, metrics: Metrics) -> str | None:
        self.steps = self.steps + 1 if without_signal(metrics) else 0
        if not self.limit or self.steps < self.limit:
            return None
        well_formed = metrics.get("rollout/parse_ok_rate", 1.0)
        cause = f" The format broke down: {well_formed:.0%} of replies were well-formed." if well_formed < 0.5 else ""
        return f"No trajectory succeeded and no group's returns differed for {self.steps} steps in a row.{cause}"


@dataclass(slots=True)
class EmptyFilterDetector:
    """Ends the run after `limit` steps in a row in which the filter kept no group; 0 never does."""

    limit: int
    steps: int = 0

    def observe(self, metrics: Metrics) -> str | None:
        self.steps = self.steps + 1 if metrics.get("filter/kept_groups", 1.0) == 0 else 0
        if not self.limit or self.steps < self.limit:
            return None
        return f"The filter kept no group for {self.steps} steps in a row, so there was nothing to train on."


class Detectors:
    """All rules and stops of a run."""

    def __init__(self, rules: dict[str, Rule], stops: dict[str, ZeroSignalDetector | EmptyFilterDetector]) -> None:
        self.rules = rules
        self.stops = stops

    def observe(self, step: int, metrics: Metrics) -> Verdict:
        """Takes in one step, in order; what to raise and whether to end."""
        drafts = [rule.observe(name, metrics) for name, rule in self.rules.items()]
        reasons = [stop.observe(metrics) for stop in self.stops.values()]
        return Verdict(
            alerts=[draft for draft in drafts if draft is not None],
            stop=next((reason for reason in reasons if reason), None),
        )

    def state_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "rules": {name: rule.state_dict() for name, rule in self.rules.items()},
            "stops": {name: stop.steps for name, stop in self.stops.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes up where `state_dict` left off; a rule that the state does not know starts afresh."""
        for name, rule_state in state.get("rules", {}).items():
            if name in self.rules:
                self.rules[name].load_state_dict(rule_state)
        for name, steps in state.get("stops", {}).items():
            if name in self.stops:
                self.stops[name].steps = steps


def build_detectors(config: StopConfig) -> Detectors:
    return Detectors(
        build_rules(),
        {
            "zero_signal": ZeroSignalDetector(config.collapsed_after),
            "empty_filter": EmptyFilterDetector(config.empty_filter_after),
        },
    )
