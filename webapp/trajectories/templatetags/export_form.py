"""`{% export_form run filters count %}`: the downloads under the list, with their limit in words."""

from __future__ import annotations

from typing import Any

from django import template

from webapp.runs.models import Run
from webapp.trajectories.chat import MOST_EXPORTED

register = template.Library()


@register.inclusion_tag("trajectories/_export.html")
def export_form(run: Run, filters: Any, count: int) -> dict[str, Any]:
    return {"run": run, "query": filters.query(), "count": count, "most": MOST_EXPORTED, "over": count > MOST_EXPORTED}
