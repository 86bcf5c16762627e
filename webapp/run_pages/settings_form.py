"""The settings of a live run as the Control tab's form shows them."""

from __future__ import annotations

from typing import Any

from engine.config.live import LIVE_FIELDS, value_of
from webapp.config_form import sections
from webapp.runs.live_settings import current
from webapp.runs.models import Run


def fields_with_values(run: Run) -> list[dict[str, Any]]:
    """The scalar live settings as form fields; `original` is the value at launch."""
    known = {one.name: (section.title, one) for section in sections() for one in section.fields}
    now, first = current(run), run.parsed_config()
    found = []
    for field in LIVE_FIELDS:
        if field.startswith("detectors."):
            continue
        title, one = known[field]
        one.value = _as_text(value_of(now, field))
        label = f"{title}: {one.label.lower()}".replace(": kl ", ": KL ")
        found.append({"label": label, "field": one, "original": _as_text(value_of(first, field))})
    return found


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
