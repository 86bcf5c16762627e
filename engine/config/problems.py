"""What is wrong with a configuration, field by field."""

from __future__ import annotations

from pydantic import ValidationError


def problems_by_field(error: ValidationError) -> list[tuple[str, str]]:
    """`(dotted field, reason)` for each problem; cross-field rules begin with the field they concern."""
    found = []
    for item in error.errors():
        field = ".".join(map(str, item["loc"]))
        reason = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            reason = "unknown key; remove it or mend its spelling"
        head, separator, rest = reason.partition(": ")
        if separator and " " not in head:
            field, reason = f"{field}.{head}" if field else head, rest
        found.append((field, reason))
    return found
