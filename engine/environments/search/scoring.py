"""Exact match and F1 of answers, by the rules of HotpotQA's evaluation (Yang et al., arXiv 1809.09600)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
CLOSED = frozenset({"yes", "no", "noanswer"})  # answers that only match as a whole


def normalised(answer: str) -> str:
    """In lower case, without ASCII punctuation, without articles, with single spaces; in this order."""
    plain = answer.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def exact_match(given: str, expected: Iterable[str]) -> float:
    mine = normalised(given)
    return float(any(mine == normalised(one) for one in expected))


def f1(given: str, expected: Iterable[str]) -> float:
    """The harmonic mean of precision and recall of words; the best over all expected answers."""
    return max((_f1(normalised(given), normalised(one)) for one in expected), default=0.0)


def _f1(given: str, expected: str) -> float:
    if given != expected and (given in CLOSED or expected in CLOSED):
        return 0.0
    mine, theirs = given.split(), expected.split()
    shared = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * shared / (len(mine) + len(theirs)) if shared else 0.0
