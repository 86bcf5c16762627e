"""All values that given numbers can make, in how many ways, and one expression for each.

Rational numbers are pairs of a numerator and a positive denominator in lowest terms, which is several times faster
than `Fraction`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

Rational = tuple[int, int]
Part = tuple[int, Rational]  # which numbers are used, as bits, and the value made of them
Origin = tuple[str, Part, Part]  # the last operation, and what is left and right of it
PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}
ATOM = 3  # precedence of a single number


class Reachable:
    """Every value that `numbers` make with `operations`, each number used once.

    Ways are counted up to the order of two operands; equal numbers count separately. Four numbers and all operations
    take about 10 ms.
    """

    def __init__(self, numbers: Sequence[int], operations: str) -> None:
        self.numbers = tuple(numbers)
        self.operations = operations
        self._all = (1 << len(self.numbers)) - 1
        self._counts: dict[int, dict[Rational, int]] = {}
        self._origins: dict[Part, Origin] = {}
        for subset in range(1, self._all + 1):
            if subset & (subset - 1):
                self._counts[subset] = self._combine(subset)
            else:
                self._counts[subset] = {(self.numbers[subset.bit_length() - 1], 1): 1}

    def whole_values(self) -> list[int]:
        """The values that are whole numbers, ascending."""
        return sorted(value for value, denominator in self._counts[self._all] if denominator == 1)

    def count(self, value: int) -> int:
        """In how many ways `value` is made."""
        return self._counts[self._all].get((value, 1), 0)

    def expression(self, value: int) -> str | None:
        """One way of making `value`, with no more parentheses than it needs; None if there is none."""
        return self._text((self._all, (value, 1)))[0] if self.count(value) else None

    def _combine(self, subset: int) -> dict[Rational, int]:
        counts: dict[Rational, int] = {}
        for left, right in _splits(subset):
            for first, ways in self._counts[left].items():
                for second, others in self._counts[right].items():
                    for value, symbol, swapped in _results(first, second, self.operations):
                        if value in counts:
                            counts[value] += ways * others
                            continue
                        counts[value] = ways * others
                        parts = ((right, second), (left, first)) if swapped else ((left, first), (right, second))
                        self._origins[subset, value] = (symbol, *parts)
        return counts

    def _text(self, part: Part) -> tuple[str, int]:
        """An expression and the precedence of its last operation."""
        if part not in self._origins:
            return str(part[1][0]), ATOM
        symbol, left_part, right_part = self._origins[part]
        own = PRECEDENCE[symbol]
        left, left_precedence = self._text(left_part)
        right, right_precedence = self._text(right_part)
        if left_precedence < own:
            left = f"({left})"
        if right_precedence < own or (right_precedence == own and symbol in "-/"):
            right = f"({right})"
        return f"{left} {symbol} {right}", own


def _splits(subset: int) -> Iterator[tuple[int, int]]:
    """The ways to split a set in two, each once."""
    lowest = subset & -subset
    left = (subset - 1) & subset
    while left:
        if left & lowest:
            yield left, subset ^ left
        left = (left - 1) & subset


def _results(first: Rational, second: Rational, operations: str) -> Iterator[tuple[Rational, str, bool]]:
    """What the operations make of two values, in both orders: the value, the operation, whether they are swapped."""
    (a, b), (c, d) = first, second
    for symbol in operations:
        if symbol == "+":
            yield _lowest_terms(a * d + c * b, b * d), "+", False
        elif symbol == "-":
            yield _lowest_terms(a * d - c * b, b * d), "-", False
            yield _lowest_terms(c * b - a * d, b * d), "-", True
        elif symbol == "*":
            yield _lowest_terms(a * c, b * d), "*", False
        else:
            if c:
                yield _lowest_terms(a * d, b * c), "/", False
            if a:
                yield _lowest_terms(c * b, d * a), "/", True


def _lowest_terms(numerator: int, denominator: int) -> Rational:
    if denominator == 1:
        return numerator, 1
    divisor = gcd(numerator, denominator)
    if denominator < 0:
        divisor = -divisor
    return numerator // divisor, denominator // divisor
