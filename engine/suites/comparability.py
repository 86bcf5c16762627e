"""When two evaluations may be ranked together: the same conditions, item by item, which have one key.

The key is SHA-256 of the conditions as canonical JSON. Not in it: names and descriptions, which change no result, and
what decides speed only. Seeds are not in it either, since problems are identified by what they are.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from engine.environments.registry import environment_class
from engine.evaluation.revision import REVISION
from engine.suites.suite import Suite, SuiteItem

Conditions = dict[str, Any]  # plain JSON, as it is stored
BUDGETS = ("max_turns", "max_actions_per_turn", "max_actions", "max_response_tokens")
WORDS = {
    "environment.kind": "environment",
    "environment.version": "version of the environment",
    "environment.instruction": "instruction",
    "environment.wrappers": "wrappers",
    "problems.count": "number of problems",
    "problems.digest": "problems",
    "sampling.think": "thinking",
    "sampling.context": "context window",
    "sampling.top_p": "top-p",
    "sampling.top_k": "top-k",
    "sampling.samples": "samples per problem",
    "scoring.evaluator": "version of the scoring",
}


def conditions_of(suite: Suite) -> list[Conditions]:
    """Of each item, in order."""
    return [_conditions(item) for item in suite.items]


def key_of(conditions: list[Conditions]) -> str:
    """The comparability key, 64 hexadecimal digits."""
    plain = [{name: value for name, value in one.items() if name != "item"} for one in conditions]
    return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def differences(first: list[Conditions], other: list[Conditions]) -> list[str]:
    """In which fields two differ, in words; empty if they have one key. Example: `Sokoban: max turns 5, not 10`."""
    found = []
    if len(first) != len(other):
        found.append(f"{len(first)} items, not {len(other)}")
    for one, its in zip(first, other, strict=False):
        left, right = _leaves(one), _leaves(its)
        for name in dict.fromkeys([*left, *right]):
            if name != "item" and left.get(name) != right.get(name):
                found.append(f"{one['item']}: {_said(name, left.get(name), right.get(name))}")
    return found


def digest_of(problems: list[str]) -> str:
    """Of a list of problem identities, in order."""
    return hashlib.sha256(" ".join(problems).encode()).hexdigest()


def _conditions(item: SuiteItem) -> Conditions:
    environment = item.environment
    kind = environment_class(environment.kind)
    parameters = kind.Config(**environment.parameters)
    return {
        "item": item.name,
        "environment": {
            "kind": environment.kind,
            "version": kind.version,
            "parameters": parameters.model_dump(mode="json"),
            "wrappers": [layer.model_dump(mode="json") for layer in environment.wrappers],
            "instruction": environment.instruction,
        },
        "problems": {"count": len(item.problems), "digest": digest_of(item.problems)},
        "sampling": {
            "samples": item.samples,
            "temperature": item.temperature,
            **({"top_p": item.top_p} if item.top_p < 1 else {}),  # none is no condition
            **({"top_k": item.top_k} if item.top_k else {}),
            "think": item.think,
            "context": item.context.model_dump(mode="json"),
        },
        "budgets": {
            **{name: getattr(environment, name) for name in BUDGETS},
            "max_context_tokens": item.max_context_tokens,
        },
        "scoring": {"evaluator": REVISION},
    }


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    """By dotted path; lists, and parts of `context`, are one value."""
    if not isinstance(value, dict) or path in ("sampling.context",):
        return {path: value}
    found: dict[str, Any] = {}
    for name, part in value.items():
        found |= _leaves(part, f"{path}.{name}".removeprefix("."))
    return found


def _said(name: str, mine: Any, its: Any) -> str:
    word = WORDS.get(name, name.rpartition(".")[2].replace("_", " "))
    if name == "problems.digest":
        return "other problems"
    if name == "environment.instruction":
        return "another instruction"
    return f"{word} {_shown(mine)}, not {_shown(its)}"


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "type" in value:
        rest = [f"{name} {part}" for name, part in value.items() if name != "type"]
        return " ".join([str(value["type"]), *rest])
    if value is None:
        return "none"
    return json.dumps(value) if isinstance(value, (list, dict, bool)) else str(value)
