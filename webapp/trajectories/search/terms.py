"""A search query as terms. No query is an error."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_QUERY = 400
MOST_TERMS = 20
_PARTS = re.compile(r'"([^"]*)"?|(\S+)')
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """Adjacent words; with `open_ended`, the last one is a prefix."""

    words: tuple[str, ...]
    open_ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """All of `terms` must occur. `problem` is the reason if not everything was searched for."""

    terms: tuple[Term, ...] = ()
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.terms)


def read_terms(text: str) -> Terms:
    """`hole "go left" slip*`: a word, two adjacent words, and any word with that prefix; punctuation is ignored."""
    cut = text[:LONGEST_QUERY]
    found = [_term(phrase, word) for phrase, word in _PARTS.findall(cut)]
    terms = tuple(dict.fromkeys(term for term in found if term.words))
    if text.strip() and not terms:
        return Terms(problem=f"{cut!r} has no letters or digits to search for. It was ignored.")
    if len(text) > LONGEST_QUERY or len(terms) > MOST_TERMS:
        problem = f"The search was cut to its first {LONGEST_QUERY} characters and {MOST_TERMS} terms."
        return Terms(terms=terms[:MOST_TERMS], problem=problem)
    return Terms(terms=terms)


def _term(phrase: str, word: str) -> Term:
    return Term(words=tuple(_WORD.findall(phrase or word)), open_ended=len(word) > 1 and word.endswith("*"))
