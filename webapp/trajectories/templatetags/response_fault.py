"""Labels of faults: of one response `{{ turn.parse|response_fault }}`, of several `{{ row.faults|fault_kinds }}`."""

from __future__ import annotations

from typing import Any

from django import template

from webapp.trajectories.faults import kinds_in, label_of

register = template.Library()

register.filter("response_fault", label_of)


@register.filter
def played(turn: dict[str, Any]) -> str:
    """How many of its actions a response with surplus ones has played."""
    return f"{len(turn['executed'])} of {len(turn['parsed']) + turn['surplus']} played"


@register.filter
def fault_kinds(column: str | None) -> list[str]:
    """Labels of the kinds in a trajectory's row."""
    return [label_of(kind) for kind in kinds_in(column or "")]
