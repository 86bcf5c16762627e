"""Differences between configurations: nested keys as dotted rows, differing ones and equal ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic import ValidationError

from engine.environments import environment_class
from engine.errors import ConfigError

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


def with_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of an environment, or of a run, with every parameter of its environments: a default may have
    been written or left out, and means the same."""
    if isinstance(environments := config.get("environments"), list):
        return {**config, "environments": [with_defaults(one) for one in environments]}
    try:
        kind = environment_class(config["kind"])
        parameters = kind.Config(**config.get("parameters", {})).model_dump(mode="json")
    except (KeyError, ConfigError, ValidationError):  # an imported run's, or a kind whose package was removed
        return dict(config)
    return {**config, "parameters": parameters}


def differences(configs: Sequence[Mapping[str, Any]]) -> Differences:
    """Every key of `configs`, in order of first appearance; of a list that is empty in some, only what others have."""
    return leaf_differences([flatten(with_defaults(config)) for config in configs])


def leaf_differences(flat: Sequence[Mapping[str, Any]]) -> Differences:
    """The same of configurations that are flattened already."""
    found = dict.fromkeys(key for leaves in flat for key in leaves)
    inner = {key[:at] for key in found for at, sign in enumerate(key) if sign == "."}
    keys = [key for key in found if key not in inner]
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
