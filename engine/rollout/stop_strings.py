"""Stop strings: texts that end a response, besides the tokens that do.

They are looked for in what the model samples, token by token, and are part of the response: the ids that are trained on
are exactly those that were sampled. A token that completes a stop string may hold characters after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

MARGIN = 4  # tokens before the longest string, for characters that are more than one token


class StopStrings:
    """`decode` returns the text of ids."""

    def __init__(self, strings: Sequence[str], decode: Callable[[list[int]], str]) -> None:
        self.strings, self.decode = tuple(strings), decode
        # a token is a byte or more, so no more of them can hold a string
        self.tail = max(len(string.encode()) for string in strings) + MARGIN

    def end(self, ids: Sequence[int]) -> bool:
        """Whether the last of the sampled `ids` completes a stop string; earlier ones did not."""
        text = self.decode(list(ids[-self.tail :]))
        return any(string in text for string in self.strings)

    def first_end(self, ids: Sequence[int], *, seen: int = 0) -> int | None:
        """How many of `ids` there are up to the one that completes a stop string; the first `seen` complete none."""
        return next((count for count in range(seen + 1, len(ids) + 1) if self.end(ids[:count])), None)

    def cut(self, text: str) -> str:
        """`text` up to the end of the first stop string; all of it without one."""
        ends = [at + len(string) for string in self.strings if (at := text.find(string)) >= 0]
        return text[: min(ends)] if ends else text
