"""`{% export_form scope filters counts %}`: the downloads under the list, with a note on their limit; `counts` may be
None, as long as nothing is counted."""

from __future__ import annotations

from typing import Any

from django import template

from webapp.trajectories.chat import MOST_EXPORTED
from webapp.trajectories.filters import Filters
from webapp.trajectories.scope import Scope
from webapp.trajectories.services import Counts

register = template.Library()


@register.inclusion_tag("trajectories/_export.html")
def export_form(scope: Scope, filters: Filters, counts: Counts | None) -> dict[str, Any]:
    count = counts.total if counts else None
    return {
        "scope": scope,
        "query": filters.query(),
        "count": count,
        "most": MOST_EXPORTED,
        "over": count is not None and count > MOST_EXPORTED,
    }
