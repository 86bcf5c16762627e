"""Names for an invented world, put together from syllables. Each name is given once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ONSETS = ("Br", "Dr", "Fl", "Gl", "Kr", "Pl", "Qu", "Sk", "Str", "Thr", "V", "Vr", "W", "Z", "Zh", "Y", "M", "N", "L")
VOWELS = ("a", "e", "i", "o", "u", "ae", "oi", "ei", "ou", "y")
MIDDLES = ("ld", "lm", "mb", "ndr", "nth", "rg", "rkh", "rv", "sk", "st", "v", "vr", "x", "zz", "l", "m", "n", "r", "d")
MIDDLES_BEFORE_CONSONANTS = ("l", "m", "n", "r", "s", "th", "x", "v", "sk", "ld")
ENDS = {
    "country": ("avia", "oria", "umar", "estan", "ethia", "ona"),
    "town": ("burg", "ford", "mouth", "stead", "wick", "haven", "holm", "gate", "ton"),
    "river": ("a", "el", "is", "on", "uen", "ar"),
    "mountain": ("horn", "kopf", "spire", "tor", "crag"),
    "first": ("an", "el", "ia", "is", "or", "une", "ett", "ys"),
    "last": ("ash", "dane", "ek", "iver", "moor", "ouk", "quist", "thal", "worth", "zan"),
    "company": ("co", "ex", "tron", "ware", "line", "mill"),
    "sea": ("ean", "ic", "ine"),
}


class Names:
    """Draws names; none twice, whatever their kind, so that a name means one thing."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.given: set[str] = set()

    def one(self, kind: str) -> str:
        """A name of one word with an ending of `kind`."""
        while True:
            end = self._any(ENDS[kind])
            middle = self._any(MIDDLES if end[0] in "aeiouy" else MIDDLES_BEFORE_CONSONANTS)
            name = self._any(ONSETS) + self._any(VOWELS) + middle + end
            if name not in self.given:
                self.given.add(name)
                return name

    def person(self) -> str:
        return f"{self.one('first')} {self.one('last')}"

    def _any(self, parts: Sequence[str]) -> str:
        return parts[int(self.rng.integers(len(parts)))]
