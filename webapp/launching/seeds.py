"""Several runs from one form, one for each seed."""

from __future__ import annotations

MOST = 20  # runs from one form
LARGEST = 999_999
HELP = f"One run for each: 1, or 1-3, or 1, 5, 9; at most {MOST}. A seed determines problems, sampling and shuffling."


def seeds_of(text: str) -> list[int]:
    """`[1, 2, 3, 7]` for "1-3, 7". `ValueError` says what is wrong."""
    found: list[int] = []
    for part in filter(None, (one.strip() for one in text.replace("\N{EN DASH}", "-").split(","))):
        first, dash, last = (one.strip() for one in part.partition("-"))
        low, high = _seed(first, part), _seed(last, part) if dash else _seed(first, part)
        if low > high:
            raise ValueError(f"{part} runs backwards. Write {high}-{low}.")
        if high - low >= MOST:
            raise ValueError(_too_many(high - low + 1))
        found += range(low, high + 1)
    distinct = list(dict.fromkeys(found))
    if not distinct:
        raise ValueError("missing. Give it a value, such as 1 or 1-3.")
    if len(distinct) > MOST:
        raise ValueError(_too_many(len(distinct)))
    return distinct


def _seed(text: str, part: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text[:9]) > LARGEST or len(text) > 6:
        raise ValueError(
            f"{part[:40]!r} is not a seed. Use whole numbers up to {LARGEST}, such as 1, or 1-3, or 1, 5, 9."
        )
    return int(text)


def _too_many(count: int) -> str:
    return f"{count} seeds would be as many runs. Use {MOST} or fewer."
