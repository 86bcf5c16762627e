"""What nullable columns are sorted by. The indices of the table hold the same expressions, letter by letter.

The constants stand in the SQL itself: SQLite looks an expression up among its indices before it knows parameters.
"""

from __future__ import annotations

from django.db.models import F, FloatField, Func, IntegerField

LOWEST = -1e300  # where a row without a number sorts
NO_FLAG = -1  # where a row without a flag sorts


def number_or_lowest(field: str) -> Func:
    return Func(F(field), template=f"COALESCE(%(expressions)s, {LOWEST!r})", output_field=FloatField())


def flag_as_number(field: str) -> Func:
    """1, 0, and below both where it is null; numbers, which every database can compare."""
    template = f"COALESCE(CAST(%(expressions)s AS integer), {NO_FLAG})"
    return Func(F(field), template=template, output_field=IntegerField())
