"""`{% captured_note run step %}`: how many of a step's trajectories, or of all, were kept, and why those."""

from __future__ import annotations

from typing import Any

from django import template

from webapp.runs.models import Run
from webapp.trajectories.captured import captured, describe_retention

register = template.Library()


@register.inclusion_tag("trajectories/_captured.html")
def captured_note(run: Run, step: str = "") -> dict[str, Any]:
    """`step` is the text of the list's filter; anything but a number is no step."""
    number = int(step) if step.isascii() and step.isdigit() and len(step) < 10 else None
    found = captured(run, number)
    return {"captured": found, "retention": describe_retention(run) if found and found.removed else ""}
