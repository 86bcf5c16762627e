"""Mutants of a module: its source with one operator, comparison, constant or condition changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    line: int
    was: str
    now: str
    source: str


def mutants_of(source: str) -> Iterator[Mutant]:
    """In reading order. Type annotations, docstrings and strings are left as they are."""
    tree = ast.parse(source)
    annotations = {id(part) for one in _annotations(tree) for part in ast.walk(one)}
    for index, node in enumerate(ast.walk(tree)):
        if id(node) not in annotations and (change := _changed(node)) is not None:
            copy = deepcopy(tree)
            target = next(part for number, part in enumerate(ast.walk(copy)) if number == index)
            for name, value in change.items():
                setattr(target, name, value)
            now = ast.unparse(target)
            yield Mutant(getattr(node, "lineno", 0), ast.unparse(node), now, ast.unparse(copy))


def _annotations(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if (found := getattr(node, name, None)) is not None:
                yield found


def _changed(node: ast.AST) -> dict[str, object] | None:
    """The changed fields of a node; None for one that has no mutant."""
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in OPERATORS:
            return {"op": OPERATORS[type(op)]()}
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            return {"ops": [COMPARISONS[type(op)]()]}
        case ast.BoolOp(op=op):
            return {"op": ast.And() if isinstance(op, ast.Or) else ast.Or()}
        case ast.Constant(value=bool() as value):
            return {"value": not value}
        case ast.Constant(value=int() | float() as number):
            return {"value": number + 1}
        case ast.If(test=test):
            return {"test": ast.UnaryOp(op=ast.Not(), operand=test)}
        case ast.UnaryOp(op=ast.USub()):
            return {"op": ast.UAdd()}
        case _:
            return None
