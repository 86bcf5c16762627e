"""Which tokens of a response spell a part of its text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from engine.rollout.context_manager import ContextManager


def tokens_within(context: ContextManager, ids: list[int], span: tuple[int, int]) -> range:
    """Indices of the tokens of a response that spell only text in `span` of its text, or spaces before it.

    Positions are found by decoding prefixes, so no text is encoded again. A token that also spells other text is left
    out, as is one with only some bytes of a character at an edge.
    Example: for `<think>a</think><answer>Up || Left</answer>` and the span of `|| Left` those of ` ||` and ` Left`.
    """
    text = context.response_text(ids)
    start = len(text[: span[0]].rstrip())
    counts = range(len(ids) + 1)

    def decoded(count: int) -> int:
        return len(context.response_text(ids[:count]))

    first = bisect_left(counts, start, key=decoded)
    while first < len(ids) and not text.startswith(context.response_text(ids[:first])):
        first += 1
    last = bisect_right(counts, span[1], key=decoded) - 1
    while last > first and not text.startswith(context.response_text(ids[:last])):
        last -= 1
    return range(first, last)
