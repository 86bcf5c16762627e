"""The text of a report: Markdown as HTML, and the blocks in it that show runs.

Raw HTML in the text is shown as text, links only lead to web and mail addresses, and there are no images, so that a
report loads nothing from elsewhere. A block is fenced code with one of `KINDS` after the fence, and an address in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from webapp.visible_text import visible

KINDS = ("chart", "metrics", "settings", "alerts", "problems", "trajectory")
MOST_BLOCKS = 40
LOWEST_HEADING = 6
ALIGNED = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    html: SafeString


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    kind: str
    address: str


def parts_of(text: str, *, origin: str = "") -> list[Prose | Block]:
    """In order. Links to pages of this site begin with `origin`, for a file that is read elsewhere."""
    found: list[Prose | Block] = []
    waiting: list[Token] = []
    for token in _MARKDOWN.parse(visible(text.replace("\r\n", "\n"))):
        kind = token.info.strip().split(" ")[0] if token.type == "fence" and token.level == 0 else ""
        if kind in KINDS:
            _add_prose(found, waiting, origin)
            waiting = []
            found.append(Block(kind=kind, address=token.content.strip()))
        else:
            waiting.append(token)
    _add_prose(found, waiting, origin)
    return found


def _add_prose(found: list[Prose | Block], tokens: list[Token], origin: str) -> None:
    if tokens:
        _adapt(tokens, origin)
        html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
        found.append(Prose(html=mark_safe(html)))  # noqa: S308 - the parser escapes raw HTML


def _adapt(tokens: Sequence[Token], origin: str) -> None:
    """Headings are below the title of the page, alignment is a class, and links reveal nothing of the report."""
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(LOWEST_HEADING, int(token.tag[1:]) + 1)}"
        if (style := token.attrs.pop("style", None)) is not None:
            token.attrs["class"] = f"align-{ALIGNED.get(str(style), 'left')}"
        if token.type == "link_open":
            address = str(token.attrs.get("href", ""))
            if address.startswith("/") and not address.startswith("//"):
                token.attrs["href"] = origin + address
            else:
                token.attrs["rel"] = "noopener noreferrer nofollow"
        _adapt(token.children or [], origin)
