"""Text that models, environments and users wrote, as it is: characters that nobody can see are named where they stand.

`static/js/core/visible_text.js` does the same in the browser, and a test compares the two.
"""

from __future__ import annotations

import re

from django import template

register = template.Library()

# Control and format characters, separators of lines, fillers and variation selectors without ink, private and
# noncharacter code points, and surrogates; but newlines, tabs, and the selector that makes an emoji colourful.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
# Abbreviations of the Unicode standard, where readers know them better than a number.
NAMES = {
    0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x0D: "CR", 0x1B: "ESC", 0x7F: "DEL", 0xAD: "SHY", 0x200B: "ZWSP",
    0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM", 0x200F: "RLM", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF",
    0x202D: "LRO", 0x202E: "RLO", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xFEFF: "BOM",
}  # fmt: skip


@register.filter
def visible(value: object) -> str:
    """`value` as text with each unseen character as `[RLO]` or `[U+E000]`. Autoescaping still applies to the result."""
    return HIDDEN.sub(_named, str(value))


def _named(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"[{NAMES.get(code) or f'U+{code:04X}'}]"
