"""A report as HTML: its prose, and its blocks as they are now. One rendering for the page, the shared link and the
exported file."""

from __future__ import annotations

from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from webapp.reports.blocks import show
from webapp.reports.markdown import MOST_BLOCKS, Prose, parts_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """`live` if a run in it has not ended."""

    html: SafeString
    live: bool


def render_report(text: str, *, linked: bool, origin: str = "", interactive: bool = False) -> Rendered:
    """With `linked`, blocks lead to the pages that they show, which needs an account. With `interactive`, charts have
    the numbers that scripts draw them from."""
    html: list[str] = []
    live = False
    blocks = 0
    for part in parts_of(text, origin=origin):
        if isinstance(part, Prose):
            html.append(part.html)
            continue
        blocks += 1
        if blocks > MOST_BLOCKS:
            html.append(render_to_string("reports/_too_many.html", {"most": MOST_BLOCKS}))
            break
        shown = show(part)
        live = live or shown.live
        html.append(
            render_to_string(
                "reports/_block.html", {"shown": shown, "linked": linked, "interactive": interactive, **shown.data}
            )
        )
    return Rendered(html=mark_safe("".join(html)), live=live)  # noqa: S308 - by templates and the parser
