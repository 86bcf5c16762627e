"""Whether a run was trained as a configuration says: what changes learning, or what results measure, must be equal.

How often a run is evaluated, recorded and saved, and on which machines it trained, may differ. So may the rules that
end a run early, of one that trained all of its steps.
"""

from __future__ import annotations

import json
from typing import Any

from engine.config import RunConfig
from webapp.environments.differences import flatten, with_defaults

LABELS = ("preset", "description")
SECTIONS = ("capture", "checkpoint", "cluster", "diagnostics", "evaluation")
COMPARED = (  # of these sections
    "evaluation.temperature",
    "evaluation.weights",
    "evaluation.first_seed",
    "cluster.overlap",
    "cluster.importance_cap",
)
MACHINE = ("backend", "threads")
ENDINGS = ("stop", "detectors")
MOST_NAMED = 8

Fields = dict[str, Any]


def compared_fields(config: RunConfig, *, endings: bool) -> Fields:
    """By dotted name those that must be equal. `endings`: with the rules that end a run early."""
    ignored = {*LABELS, *MACHINE, *SECTIONS, *(() if endings else ENDINGS)}
    values = flatten(with_defaults(config.model_dump(mode="json")))
    return {name: value for name, value in values.items() if name in COMPARED or name.partition(".")[0] not in ignored}


def key_of(fields: Fields) -> str:
    return json.dumps(fields, sort_keys=True)


def differing(run: Fields, wanted: Fields) -> list[str]:
    """`loss.kl_coefficient: 0.1 in the run, 0.2 in the sweep` for each."""
    missing = object()
    return [
        f"{name}: {_text(run, name)} in the run, {_text(wanted, name)} in the sweep"
        for name in dict.fromkeys([*wanted, *run])
        if run.get(name, missing) != wanted.get(name, missing)
    ]


def listed(differences: list[str]) -> str:
    more = f"\n  and {len(differences) - MOST_NAMED} more" if len(differences) > MOST_NAMED else ""
    return "".join(f"\n  {one}" for one in differences[:MOST_NAMED]) + more


def _text(fields: Fields, name: str) -> str:
    return json.dumps(fields[name]) if name in fields else "not set"
