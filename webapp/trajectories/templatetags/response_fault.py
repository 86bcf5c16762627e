"""The label of a response's fault: `{{ turn.parse|response_fault }}`."""

from __future__ import annotations

from typing import Any

from django import template

from webapp.trajectories.faults import label_of

register = template.Library()

register.filter("response_fault", label_of)


@register.filter
def played(turn: dict[str, Any]) -> str:
    """How many of its actions a response with surplus ones has played."""
    return f"{len(turn['executed'])} of {len(turn['parsed']) + turn['surplus']} played"
