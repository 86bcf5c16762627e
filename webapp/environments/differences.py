"""Differences between configurations: nested keys as dotted rows, differing ones and equal ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

SMALLEST_DECIMAL = 1e-7  # smaller ones have an exponent


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One key; `values` in the order of the configurations, None where a configuration lacks the key."""

    key: str
    values: list[str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    differing: list[Row]
    same: list[Row]


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Leaves by dotted key. A dot inside a key is written `\\.`; an empty mapping or list is a leaf."""
    if isinstance(value, Mapping) and value:
        pairs = [(str(key).replace(".", "\\."), child) for key, child in value.items()]
    elif isinstance(value, list) and value and any(isinstance(child, Mapping | list) for child in value):
        pairs = [(str(index), child) for index, child in enumerate(value)]
    else:
        return {prefix: value}
    leaves: dict[str, Any] = {}
    for key, child in pairs:
        leaves |= flatten(child, f"{prefix}.{key}" if prefix else key)
    return leaves


def differences(configs: Sequence[Mapping[str, Any]]) -> Differences:
    """Every key of `configs`, in order of first appearance."""
    return leaf_differences([flatten(config) for config in configs])


def leaf_differences(flat: Sequence[Mapping[str, Any]]) -> Differences:
    """The same of configurations that are flattened already."""
    keys = list(dict.fromkeys(key for leaves in flat for key in leaves))
    rows = [Row(key=key, values=[shown(leaves[key]) if key in leaves else None for leaves in flat]) for key in keys]
    return Differences(
        differing=[row for row in rows if len(set(row.values)) > 1],
        same=[row for row in rows if len(set(row.values)) == 1],
    )


def shown(value: Any) -> str:
    """A leaf as text: strings without quotes, everything else as JSON, but 0.00005 instead of 5e-05."""
    if isinstance(value, float) and SMALLEST_DECIMAL <= abs(value) < 1:
        return format(Decimal(repr(value)), "f")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
