"""Whether an answer is the expected one: as a number, as text, and as mathematics if `math-verify` is installed."""

from __future__ import annotations

import re
from fractions import Fraction

from engine.environments.questions.symbolic import symbolically_equal

LONGEST_NUMBER = 60  # characters; longer ones are compared as text
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_DECIMAL = rf"(?:{_DIGITS}(?:\.\d*)?|\.\d+)"
# an optional sign and currency; a mixed number, a fraction or a decimal; a percent sign or words as its unit
_NUMBER = re.compile(
    rf"(?P<sign>[-+]?)\s*[$€£]?\s*(?:(?P<whole>{_DIGITS})\s+(?=\d+\s*/))?(?P<top>{_DECIMAL})(?:\s*/\s*(?P<bottom>{_DECIMAL}))?"
    r"\s*(?:%|(?:[^\W\d_]|[ .'°²³-])*)",
)
_NAMED = re.compile(r"[a-z]\w{0,20}\s*=\s*", re.IGNORECASE)  # "x = 5" is 5
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_TEXT = re.compile(r"\\(?:text|mathrm|mbox)\s*\{([^{}]*)\}")
_BOXED = "\\boxed{"
_MARKER = re.compile(r"the answer is:?|####", re.IGNORECASE)


def same_answer(given: str, expected: str) -> bool:
    """Whether `given` states `expected`.

    Numbers are compared exactly, without currency, percent sign, thousands separators and units. If a number is
    expected, nothing else will do: "2 + 3" is not 5, as computing it is the problem. Anything else is compared as text,
    without case and white space, and then as mathematics.
    """
    given, expected = stated(given), stated(expected)
    mine, theirs = number(given), number(expected)
    if theirs is not None:
        return mine == theirs
    if as_text(given) == as_text(expected):
        return bool(as_text(given))
    return symbolically_equal(given, expected)


def stated(text: str) -> str:
    r"""The answer that a text states: what follows its last marker, and the content of its last \boxed{}."""
    text = _MARKER.split(text)[-1]
    if _BOXED in text:
        text = _in_braces(text[text.rindex(_BOXED) + len(_BOXED) :])
    return text.strip().strip("$").strip()


def _in_braces(text: str) -> str:
    """`text` up to the brace that closes it."""
    depth = 1
    for index, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return text[:index]
    return text


def number(text: str) -> Fraction | None:
    """The one number that the text is; None for anything else, such as two numbers or a formula."""
    plain = _without_latex(text)
    plain = _NAMED.sub("", plain, count=1) if _NAMED.match(plain) else plain
    if len(plain) > LONGEST_NUMBER:
        return None
    found = _NUMBER.fullmatch(plain)
    if found is None:
        return None
    bottom = _exact(found["bottom"] or "1")
    if bottom == 0:
        return None
    value = _exact(found["whole"] or "0") + _exact(found["top"]) / bottom
    return -value if found["sign"] == "-" else value


def _exact(digits: str) -> Fraction:
    return Fraction(digits.replace(",", "").rstrip("."))


def _without_latex(text: str) -> str:
    text = _FRACTION.sub(r"\1/\2", _TEXT.sub(r" \1", text))
    for written, plain in (("\\$", ""), ("\\%", "%"), ("\\!", ""), ("\\,", ""), ("^\\circ", "°"), ("−", "-")):
        text = text.replace(written, plain)
    return text.strip().rstrip(".").strip()


def as_text(text: str) -> str:
    """Without case, white space, dollar signs and a final full stop."""
    plain = "".join(_without_latex(text).lower().split())
    return plain.replace("\\left", "").replace("\\right", "").replace("$", "")
