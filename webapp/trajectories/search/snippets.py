"""The excerpt of a trajectory that matched a search: the text around the first hit, and its turn."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from webapp.trajectories.models import TrajectoryText
from webapp.trajectories.search.terms import Term, Terms
from webapp.trajectories.texts import TURN

BEFORE, AFTER = 60, 140  # characters around the first hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    text: str
    hit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """`turn` counts from 1, 0 if unknown; `source` is `thought` or `action`."""

    source: str
    turn: int
    pieces: tuple[Piece, ...]


def snippet(text: TrajectoryText, terms: Terms) -> Snippet | None:
    """Around the first hit in the thoughts, or else in the actions; None if only the index matched."""
    for source, words in (("thought", text.thoughts), ("action", text.actions)):
        found = _around(words, terms, source)
        if found is not None:
            return found
    return None


def _around(words: str, terms: Terms, source: str) -> Snippet | None:
    pattern = re.compile("|".join(_pattern(term) for term in terms.terms), re.IGNORECASE)
    folded = _without_accents(words)
    first = pattern.search(folded)
    if first is None:
        return None
    begin = words.rfind(TURN, 0, first.start()) + 1
    end = words.find(TURN, first.end())
    end = len(words) if end < 0 else end
    start, stop = max(begin, first.start() - BEFORE), min(end, first.end() + AFTER)
    pieces = [Piece(text="…", hit=False)] if start > begin else []
    at = start
    for hit in pattern.finditer(folded, start, stop):
        pieces += [Piece(text=words[at : hit.start()], hit=False), Piece(text=words[hit.start() : hit.end()], hit=True)]
        at = hit.end()
    pieces += [Piece(text=words[at:stop] + ("…" if stop < end else ""), hit=False)]
    return Snippet(source=source, turn=words.count(TURN, 0, begin), pieces=tuple(p for p in pieces if p.text))


def _pattern(term: Term) -> str:
    words = r"[\W_]+".join(re.escape(_without_accents(word)) for word in term.words)
    return rf"(?<![^\W_]){words}" + (r"[^\W_]*" if term.open_ended else r"(?![^\W_])")


def _without_accents(text: str) -> str:
    """`text` with plain letters, as in SQLite's index, each character at the same position."""
    if text.isascii():
        return text
    return "".join(unicodedata.normalize("NFD", character)[0] for character in text)
