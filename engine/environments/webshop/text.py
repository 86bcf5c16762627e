"""Words of titles, queries and instructions."""

from __future__ import annotations

import re
from functools import lru_cache

# Frequent English words that say nothing of a product.
_LISTED = (
    "a about all also am an and any are as at be been but by can could do does for from get had has have how i id "
    "if im in into is it its ive just like looking lower made make me more most my need no not of on one or our out "
    "please price should so some than that the their them then there these they this those to under up us use very "
    "want was we were what when where which while who will with without would you your"
)
STOP_WORDS = frozenset(_LISTED.split())

_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """Lower-case runs of letters and digits."""
    return _WORD.findall(text.lower())


@lru_cache(maxsize=4096)
def nouns(title: str) -> tuple[str, ...]:
    """The words of a title that stand for its nouns, in order and with repetitions: all of letters alone, without stop
    words. WebShop has them tagged by spaCy instead, so scores of titles are not comparable with its own."""
    return tuple(word for word in words(title) if word.isalpha() and word not in STOP_WORDS)
