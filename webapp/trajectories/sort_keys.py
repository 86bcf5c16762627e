"""Sort expressions of nullable columns. The table's indexes have exactly the same expressions.

Constants are literals in the SQL: SQLite matches an expression with its indexes before parameters are bound.
"""

from __future__ import annotations

from django.db.models import F, FloatField, Func, IntegerField

LOWEST = -1e300  # sorts rows without a number
NO_FLAG = -1  # sorts rows without a flag


def number_or_lowest(field: str) -> Func:
    return Func(F(field), template=f"COALESCE(%(expressions)s, {LOWEST!r})", output_field=FloatField())


def flag_as_number(field: str) -> Func:
    """1, 0, or -1 where it is null: numbers, which every database can compare."""
    template = f"COALESCE(CAST(%(expressions)s AS integer), {NO_FLAG})"
    return Func(F(field), template=template, output_field=IntegerField())
