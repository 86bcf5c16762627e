"""The inputs of one item of a suite, out of the engine's classes, and its seeds as text."""

from __future__ import annotations

import re

from engine.config import EnvironmentConfig
from engine.environments import environment_class
from engine.suites.resolve import ItemDraft
from webapp.forms.fields import FormField, Node, fields_of, label_of
from webapp.suites.drafts import MOST_PROBLEMS
from webapp.whole_numbers import whole_number

PROBLEMS = ["count", "first_seed"]
SAMPLING = ["samples", "temperature", "top_p", "top_k", "think", "context", "max_context_tokens"]
BUDGETS = ["max_turns", "max_actions_per_turn", "max_actions", "max_response_tokens"]


def item_nodes(prefix: str, kind: str) -> dict[str, list[Node]]:
    """The inputs of an item with an environment of this kind, by group."""
    inside = f"{prefix}environment."
    groups = {
        "name": fields_of(ItemDraft, prefix, only=["name"]),
        "problems": [*fields_of(ItemDraft, prefix, only=PROBLEMS), _seeds(prefix)],
        "sampling": fields_of(ItemDraft, prefix, only=SAMPLING),
        "parameters": fields_of(environment_class(kind).Config, f"{inside}parameters."),
        "budgets": fields_of(EnvironmentConfig, inside, only=BUDGETS),
        "instruction": fields_of(EnvironmentConfig, inside, only=["instruction"]),
    }
    for one in groups["problems"]:
        if isinstance(one, FormField) and one.name == f"{prefix}count":
            one.high = MOST_PROBLEMS
    starts = {"parameters": f"{inside}parameters.", "budgets": inside, "instruction": inside}
    for name, nodes in groups.items():
        _label(nodes, starts.get(name, prefix))
    return groups


def _label(nodes: list[Node], prefix: str) -> None:
    """By the names after the prefix, in variants by the last part alone."""
    for node in nodes:
        if isinstance(node, FormField):
            node.label = label_of(node.name.removeprefix(prefix))
            continue
        node.choice.label = label_of(node.name.removeprefix(prefix))
        for variant in node.variants:
            _label(variant.nodes, f"{node.name}.")


def _seeds(prefix: str) -> FormField:
    text = f"{ItemDraft.model_fields['seeds'].description} For example 1, 5, 9 or 100-163."
    return FormField(name=f"{prefix}seeds", label="Seeds", help=text, kind="text", default="")


def seeds_of(text: str) -> list[int]:
    """`[1, 2, 3, 7]` for "1-3, 7". `ValueError` says what is wrong."""
    found: list[int] = []
    for part in re.split(r"[\s,]+", text.replace("\N{EN DASH}", "-").strip()):
        if not part:
            continue
        first, dash, last = part.partition("-")
        low, high = whole_number(first), whole_number(last if dash else first)
        if low is None or high is None or high < low:
            raise ValueError(f"{part[:40]!r} is not a seed. Write whole numbers, such as 1, 5, 9 or 100-163.")
        if high - low > 100_000 or len(found) > 100_000:
            raise ValueError(f"{part[:40]!r} has too many seeds. Give fewer, or draw problems by their count.")
        found += range(low, high + 1)
    return found


def seeds_text(seeds: list[int]) -> str:
    """`1-3, 7` for [1, 2, 3, 7]."""
    parts: list[list[int]] = []
    for seed in seeds:
        if parts and seed == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], seed]
        else:
            parts.append([seed])
    return ", ".join("-".join(map(str, part)) for part in parts)
