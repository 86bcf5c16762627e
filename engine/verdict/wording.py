"""Reasons in words: the number comes first, then what it is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from engine.metrics import describe
from engine.verdict.held_out import Evaluation
from engine.verdict.open_alerts import OpenAlert
from engine.verdict.types import ComparedWith

SAID = {  # subject, and what follows the value; other metrics by their title
    "policy/kl": ("KL per update", ""),
    "collapse/mi_ratio": ("Mutual information", " of its ceiling"),
    "rollout/parse_ok_rate": ("The share of well-formed responses", ""),
}
COMPARED: dict[ComparedWith, str] = {
    "limit": "limit {value}",
    "start": "{value} at the start",
    "best": "{value} at its best",
    "median": "median {value} before",
    "mean": "mean {value} before",
}


def number(value: float) -> str:
    """Two decimals, fewer of what is larger, two digits of what is smaller: 0.44, 12.5, 1840, 0.0031."""
    if abs(value) >= 10:
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"


def said(metric: str, value: float, *, verb: str = "is") -> str:
    """KL per update is 0.44."""
    subject, rest = SAID.get(metric, (describe(metric).title, ""))
    return f"{subject} {verb} {number(value)}{rest}"


def alert_reason(alerts: Sequence[OpenAlert]) -> str:
    """Of the first, with the names of the others."""
    alert, raised = alerts[0], alerts[0].raised
    others = [one.raised.rule for one in alerts[1:]]
    also = f", and {_listed(others)} fired too" if others else ""
    name = f"Alert {raised.rule} at step {raised.step}{also}."
    reference = raised.baseline if raised.baseline is not None else raised.limit
    if reference is None or raised.limit is None:
        return f"{raised.message.partition('. ')[0].rstrip('.')}. {name}"
    compared = COMPARED[raised.compared_with].format(value=number(reference))
    if alert.holds:
        return f"{said(raised.metric, alert.value)} ({compared}). {name}"
    was = said(raised.metric, raised.value, verb="was")
    return f"{was} at step {raised.step} ({compared}) and is {number(alert.value)} now. {name}"


def held_out_reason(newest: Evaluation, before: Evaluation, *, when: str) -> str:
    return f"Held-out success is {with_margin(newest)}, below {with_margin(before)} {when}."


def with_margin(evaluation: Evaluation) -> str:
    """0.34 ± 0.08: half the width of the 95% interval."""
    return f"{evaluation.success:.2f} ± {(evaluation.high - evaluation.low) / 2:.2f}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
