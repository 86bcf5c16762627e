"""Template tags of many pages: a block rendered twice, icons by name, script modules, and code within text."""

from __future__ import annotations

from uuid import uuid4

from django import template
from django.template.base import Node, Parser, Token
from django.template.context import Context
from django.template.loader_tags import BLOCK_CONTEXT_KEY
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from webapp.idempotency.forms import FIELD
from webapp.script_modules import modules_of

register = template.Library()


class RepeatBlock(Node):
    """Renders a block of the page a second time."""

    def __init__(self, name: str) -> None:
        self.name = name

    def render(self, context: Context) -> SafeString:
        block = context.render_context[BLOCK_CONTEXT_KEY].get_block(self.name)
        return block.nodelist.render(context) if block else SafeString("")


@register.tag
def repeat_block(parser: Parser, token: Token) -> RepeatBlock:
    """`{% repeat_block title %}` renders the title again, as the heading."""
    return RepeatBlock(token.split_contents()[1])


@register.simple_tag
def icon(name: str) -> SafeString:
    """An icon of the sprite, hidden from screen readers, since there is always a label next to it."""
    return format_html('<svg aria-hidden="true"><use href="{}#{}"></use></svg>', static("img/icons.svg"), name)


@register.simple_tag
def script_module(name: str) -> SafeString:
    """The script module `name`, with `modulepreload` links for everything it imports."""
    _, *imported = modules_of(name)
    early = format_html_join("\n", '<link rel="modulepreload" href="{}">', ((static(one),) for one in imported))
    return format_html('{}\n<script type="module" src="{}"></script>', early, static(name))


@register.simple_tag
def form_token() -> SafeString:
    """A field that lets a form be acted on once, however often it is submitted: see `webapp.idempotency.forms`."""
    return format_html('<input type="hidden" name="{}" value="{}">', FIELD, uuid4())


@register.filter
def with_code(text: str) -> SafeString:
    """`text` with what is between backticks as code."""
    parts = enumerate(str(text).split("`"))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if index % 2 else part,) for index, part in parts)
    )
