"""Sort expressions of nullable columns. The table's indexes have exactly the same expressions.

Constants are literals in the SQL: SQLite matches an expression with its indexes before parameters are bound.
"""

from __future__ import annotations

from django.db.models import F, FloatField, Func, IntegerField

LOWEST = -1e300  # sorts rows without a number
LOWEST_OF_RUN = -2e300  # the same, in the order of a whole run
NO_FLAG = -1  # sorts rows without a flag


def number_or_lowest(field: str, lowest: float = LOWEST) -> Func:
    return Func(F(field), template=f"COALESCE(%(expressions)s, {lowest!r})", output_field=FloatField())


def number_of_run(field: str) -> Func:
    """For the list of a whole run. Its indexes have an expression of their own, since SQLite would read them for a list
    of one step too, in its order, where the index of steps finds a few rows."""
    return number_or_lowest(field, LOWEST_OF_RUN)


def flag_as_number(field: str) -> Func:
    """1, 0, or -1 where it is null: numbers, which every database can compare."""
    template = f"COALESCE(CAST(%(expressions)s AS integer), {NO_FLAG})"
    return Func(F(field), template=template, output_field=IntegerField())
