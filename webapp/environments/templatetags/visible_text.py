"""Text that somebody else wrote, as it is: characters that nobody can see are named where they stand."""

from __future__ import annotations

import unicodedata

from django import template

register = template.Library()

# Format and control characters, surrogates, separators of lines, private and unassigned code points.
HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
HIDDEN_LETTERS = frozenset("\u115f\u1160\u17b4\u17b5\u3164\uffa0")


@register.filter
def visible(value: object) -> str:
    """`value` as text with each unseen character as `[U+202E]`. Autoescaping still applies to the result."""
    return "".join(_named(character) if _is_hidden(character) else character for character in str(value))


def _is_hidden(character: str) -> bool:
    if character in "\n\t":
        return False
    return unicodedata.category(character) in HIDDEN_CATEGORIES or character in HIDDEN_LETTERS


def _named(character: str) -> str:
    return f"[U+{ord(character):04X}]"
