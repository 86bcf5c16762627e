"""Which answers reasoning-gym's scorers may read.

Some of its scorers hand the model's answer to `eval`, or to SymPy's `parse_expr`, which evaluates it as Python. Their
answers have to pass a guard first, and one that does not counts as wrong without being scored. A data set is refused
if its code has such a call and is not known here.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable
from typing import TypeGuard

LONGEST = 4000  # characters of an answer; nothing longer is scored
LONGEST_FORMULA = 300
LARGEST_EXPONENT = 64
LARGEST_NUMBER = 10**12
MOST_VARIABLES = 4
DEEPEST_GROWTH = 2  # as in exp(x**2)
FUNCTIONS = frozenset(("exp", "log", "ln", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"))
EXPONENTIALS = frozenset(("exp", "sinh", "cosh"))
FUNCTIONS_AND_CONSTANTS = FUNCTIONS | {"pi", "E"}
_EVALUATES = re.compile(r"\b(?:eval|exec|parse_expr|sympify)\(")
FORBIDDEN_OPERATORS = (ast.MatMult, ast.Mod, ast.FloorDiv, ast.LShift, ast.RShift, ast.BitOr, ast.BitXor, ast.BitAnd)

Guard = Callable[[str], bool]


def is_literal(text: str) -> bool:
    """A Python literal such as `[[1, 2], [3, 4]]`; or one word, or text that is no Python at all, for which `eval` does
    nothing but raise."""
    if text.isidentifier():
        return True
    try:
        ast.literal_eval(text)
    except SyntaxError:
        return True
    except (ValueError, MemoryError, RecursionError, TypeError):
        return False
    return True


def is_arithmetic(text: str) -> bool:
    """Numbers, + - * / and parentheses."""
    return re.fullmatch(r"[\d+\-*/().\s]*", text) is not None and "**" not in text and len(text) <= LONGEST_FORMULA


def is_formula(text: str) -> bool:
    """Sums, products, small constant powers and elementary functions of few one-letter variables and numbers.

    Towers of powers and exponentials are none, as SymPy would be busy with them forever.
    """
    if len(text) > LONGEST_FORMULA:
        return False
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    nodes = list(ast.walk(tree))
    variables = {node.id for node in nodes if isinstance(node, ast.Name)} - FUNCTIONS_AND_CONSTANTS
    return (
        len(variables) <= MOST_VARIABLES
        and all(map(_is_of_a_formula, nodes))
        and all(map(_has_small_exponent, nodes))
        and _growth(tree) <= DEEPEST_GROWTH
    )


def _is_of_a_formula(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return _is_number(node.value) and abs(node.value) < LARGEST_NUMBER
    if isinstance(node, ast.Name):
        return len(node.id) == 1 or node.id in FUNCTIONS_AND_CONSTANTS
    if isinstance(node, ast.Call):
        function = node.func
        return isinstance(function, ast.Name) and function.id in FUNCTIONS and len(node.args) == 1 and not node.keywords
    return isinstance(node, ast.BinOp | ast.UnaryOp | ast.expr_context | ast.operator | ast.unaryop) and not isinstance(
        node, FORBIDDEN_OPERATORS
    )


def _is_number(value: object) -> TypeGuard[int | float]:
    return type(value) in (int, float)


def _growth(node: ast.AST) -> int:
    """How many powers and exponentials are within each other."""
    inside = max(map(_growth, ast.iter_child_nodes(node)), default=0)
    return inside + (_is_power(node) or _is_exponential(node))


def _is_power(node: ast.AST) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)


def _is_exponential(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EXPONENTIALS


def _has_small_exponent(node: ast.AST) -> bool:
    """A number, or a fraction of two, if the node is a power."""
    if not _is_power(node):
        return True
    parts = list(ast.walk(node.right))
    numbers = [part.value for part in parts if isinstance(part, ast.Constant) and _is_number(part.value)]
    only_numbers = not any(isinstance(part, ast.Name | ast.Pow | ast.Mult) for part in parts)
    return only_numbers and len(numbers) <= 2 and all(abs(number) <= LARGEST_EXPONENT for number in numbers)


# Read in reasoning-gym 0.1.25.
GUARDS: dict[str, Guard] = {
    "binary_matrix": is_literal,
    "n_queens": is_literal,
    "spiral_matrix": is_literal,
    "string_insertion": is_literal,
    "countdown": is_arithmetic,
    "puzzle24": is_arithmetic,
    "intermediate_integration": is_formula,
    "polynomial_multiplication": is_formula,
    "simple_integration": is_formula,
}
# What these evaluate is their own text, never the model's, or `parse_expr` is a function of their own.
EVALUATE_THEIR_OWN = frozenset(("basic_arithmetic", "bitwise_arithmetic", "number_sorting", "propositional_logic"))
REFUSED = {
    "codeio": "it runs program code that a model wrote",
    "composite": "it has other data sets in it, which are not checked; use several environments",
}


def guard_of(name: str, dataset: type) -> Guard:
    """What an answer has to pass; raises `ValueError` with the reason if there is nothing that would do."""
    if name in REFUSED:
        raise ValueError(REFUSED[name])
    if name in GUARDS:
        return lambda text: len(text) <= LONGEST and GUARDS[name](text)
    source = inspect.getsource(sys.modules[dataset.__module__])
    if name not in EVALUATE_THEIR_OWN and _EVALUATES.search(source):
        raise ValueError("its code evaluates text, and it is not known whether the model's")
    return lambda text: len(text) <= LONGEST
