"""Exact evaluation of arithmetic that a model writes.

Text is parsed to a syntax tree of which only whole numbers and the four operations are known, within limits; nothing
is run as Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

LONGEST = 200  # characters
MOST_NODES = 32
DEEPEST = 16
ALPHABET = re.compile(r"[0-9+\-*/() \t\n]+")
OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An expression's value, None if it divides by zero, and the numbers in it, ascending."""

    value: Fraction | None
    numbers: tuple[int, ...]


def evaluate(text: str) -> Evaluated | None:
    """The value of an expression of whole numbers, `+ - * /`, signs and parentheses.

    None if `text` is anything else, or longer than 200 characters, 32 nodes or 16 levels.
    """
    body = _parse(text.strip())
    if body is None or not _is_arithmetic(body, DEEPEST):
        return None
    nodes = [node for node in ast.walk(body) if isinstance(node, ast.expr)]
    if len(nodes) > MOST_NODES:
        return None
    numbers = tuple(sorted(_numbers(nodes)))
    try:
        return Evaluated(_value(body), numbers)
    except ZeroDivisionError:
        return Evaluated(None, numbers)


def _parse(text: str) -> ast.expr | None:
    if len(text) > LONGEST or not ALPHABET.fullmatch(text):
        return None
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _numbers(nodes: list[ast.expr]) -> Iterator[int]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield node.value


def _is_arithmetic(node: ast.expr, levels: int) -> bool:
    if levels == 0:
        return False
    match node:
        case ast.Constant(value=value):
            return type(value) is int
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _is_arithmetic(operand, levels - 1)
        case ast.BinOp(left=left, op=operation, right=right):
            parts = (left, right)
            return isinstance(operation, OPERATIONS) and all(_is_arithmetic(part, levels - 1) for part in parts)
    return False


def _value(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value=int() as value):
            return Fraction(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=operation, right=right):
            return _combined(operation, _value(left), _value(right))
    raise AssertionError(f"{node} is not arithmetic")


def _combined(operation: ast.operator, first: Fraction, second: Fraction) -> Fraction:
    match operation:
        case ast.Add():
            return first + second
        case ast.Sub():
            return first - second
        case ast.Mult():
            return first * second
    return first / second
