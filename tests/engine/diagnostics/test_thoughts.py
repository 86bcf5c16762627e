"""Which sampled tokens are the thought, whatever the tokenizer does at the closing tag."""

from __future__ import annotations

import pytest

from engine.training.step_diagnostics import thought_ids


class Pieces:
    """Token ids as places in a list of pieces; text is their concatenation."""

    def __init__(self, *pieces: str, close: tuple[int, ...]) -> None:
        self.pieces = pieces
        self.close = close

    def encode(self, text: str) -> tuple[int, ...]:
        assert text == "</think>"
        return self.close

    def text(self, ids: list[int]) -> str:
        return "".join(self.pieces[i] for i in ids)


SPECIAL = Pieces("</think>", "go ", "up", close=(0,))
BLANK = Pieces("</think>", " ", "\n", "up", close=(0,))
SPLIT = Pieces("</", "think>", "go ", "up", close=(0, 1))
JOINED = Pieces("</", "think>", "go ", "up", ".</", close=(0, 1))


@pytest.mark.parametrize(
    ("tokenizer", "response", "expected"),
    [
        (SPECIAL, [1, 2, 0, 1], [1, 2]),
        (SPLIT, [2, 3, 0, 1, 2], [2, 3]),
        (JOINED, [2, 3, 4, 1, 2], [2, 3]),  # "go up.</think>go ": the token ".</" is partly the tag's
        (SPECIAL, [0, 1], []),
        (BLANK, [1, 2, 0], []),
        (BLANK, [1, 3, 0], [1, 3]),
        (SPECIAL, [1, 2], []),
        (SPLIT, [2, 0, 3], []),
        (JOINED, [], []),
    ],
    ids=["one token", "two tokens", "joined", "empty", "blank", "blank at first", "unclosed", "half a tag", "nothing"],
)
def test_the_thought_is_what_was_sampled_before_the_closing_tag(
    tokenizer: Pieces, response: list[int], expected: list[int]
) -> None:
    assert thought_ids(response, tokenizer) == expected
