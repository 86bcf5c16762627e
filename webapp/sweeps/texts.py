"""The words and curves of a sweep's page: its question, its notes as HTML, and charts of the metrics that it names."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from engine.sweeps.text import SweepText
from webapp.comparisons.fields import SEEDS
from webapp.reports.blocks import Shown, show
from webapp.reports.markdown import Block, Prose, parts_of
from webapp.sweeps.models import Sweep


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownText:
    """`curves` is None before there is a run, or if the sweep names no metric."""

    description: str
    notes: SafeString
    curves: Shown | None


def text_of(sweep: Sweep) -> SweepText:
    return SweepText(description=sweep.description, notes=sweep.notes, curves=sweep.curves)


def shown_text(sweep: Sweep) -> ShownText:
    launched = sweep.planned.filter(run__isnull=False).exists()
    return ShownText(
        description=sweep.description,
        notes=rendered(sweep.notes),
        curves=show(Block(kind="chart", address=compared(sweep))) if sweep.curves and launched else None,
    )


def rendered(notes: str) -> SafeString:
    """Markdown as reports have it, without their blocks."""
    return format_html_join("", "{}", ((part.html,) for part in parts_of(notes) if isinstance(part, Prose)))


def compared(sweep: Sweep) -> str:
    """The comparison of its runs, with a line for each configuration."""
    query = {"sweep": sweep.pk, "group": SEEDS, "metrics": ",".join(sweep.curves)}
    return f"/compare/?{urlencode(query, safe=',/:')}"
