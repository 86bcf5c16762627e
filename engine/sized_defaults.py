"""Defaults that follow the model's size. `RunConfig`'s own are those of the small models that ship.

They are suggestions: a form and the command line show what they change, and never replace what a user chose. No torch.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from engine.config import RunConfig, set_field
from engine.errors import ModelError
from engine.policies.model_shape import model_shape
from engine.revisions import without_revision

RESPONSE_TOKENS = "max_response_tokens"  # of each environment
IN_A_NAME = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([bm])(?![\w.])", re.IGNORECASE)  # Qwen2.5-0.5B, SmolLM2-135M
UNITS = {"b": 1e9, "m": 1e6}


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedDefaults:
    """For models of up to `most` parameters. `values` by dotted field; `response_tokens` of each environment's turn.
    `source` says where they are from."""

    title: str
    most: float
    values: Mapping[str, Any]
    response_tokens: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A field whose value is not the default for the model's size."""

    field: str
    before: Any
    after: Any


# The batch, clips and filter belong to the algorithm and do not follow the size; its preset decides them.
FULL = {
    "optimizer.learning_rate": 1e-6,
    "algorithm.critic.learning_rate": 1e-5,
    "optimizer.gradient_checkpointing": True,
    "model.lora.rank": 0,
    "rollout.max_context_tokens": 3600,
    "evaluation.episodes_at_once": 128,
}
ADAPTER = {
    **FULL,
    "optimizer.learning_rate": 1e-5,
    "algorithm.critic.learning_rate": 1e-4,
    "optimizer.precision": "bfloat16",
    "model.lora.rank": 64,
    "model.lora.alpha": 64.0,
}
OF_RAGEN = (
    "RAGEN's base configuration: learning rates of 1e-6 and 1e-5 (critic), 400 tokens per response in a context of "
    "3,600. Activations are recomputed, as in TRL's GRPOConfig and verl's GRPO examples. Held-out episodes are "
    "sampled 128 at a time, as many as a step has trajectories."
)
OF_RAGEN_LORA = (
    "LoRA of rank 64 and alpha 64 on all linear layers with ten times the learning rate (RAGEN, arXiv 2504.20073, "
    "appendix D): 1e-5 and 1e-4 (critic). All weights of such a model need 16 bytes per parameter, more than a GPU has."
)
SIZES = (
    SizedDefaults(
        title="up to 50 million parameters",
        most=50e6,
        values={
            "optimizer.learning_rate": 2e-4,
            "algorithm.critic.learning_rate": 1e-3,
            "optimizer.gradient_checkpointing": False,
            "optimizer.precision": "auto",
            "model.lora.rank": 0,
            "rollout.max_context_tokens": 1024,
            "evaluation.episodes_at_once": 0,
        },
        response_tokens=40,
        source="Measured with the bundled models.",
    ),
    SizedDefaults(
        title="50 million to 1 billion parameters",
        most=1e9,
        values={**FULL, "optimizer.precision": "auto"},
        response_tokens=400,
        source=OF_RAGEN,
    ),
    SizedDefaults(
        title="1 to 4 billion parameters",
        most=4.5e9,  # models that are called 4B have up to that
        values={**FULL, "optimizer.precision": "bfloat16"},
        response_tokens=400,
        source=OF_RAGEN,
    ),
    SizedDefaults(
        title="more than 4 billion parameters",
        most=float("inf"),
        values=ADAPTER,
        response_tokens=400,
        source=OF_RAGEN_LORA,
    ),
)


def parameters_of(path: str) -> float | None:
    """A model's parameters: counted if it is on this machine, else those that its name ends in or contains
    (`Qwen2.5-3B-Instruct`); None if neither says."""
    try:
        return model_shape(path).parameters
    except ModelError:
        found = IN_A_NAME.findall(without_revision(path)[0].rpartition("/")[2].replace("-", " ").replace("_", " "))
        return float(found[-1][0]) * UNITS[found[-1][1].lower()] if found else None


def sized_defaults(parameters: float) -> SizedDefaults:
    return next(one for one in SIZES if parameters <= one.most)


def changes_of(config: RunConfig) -> list[Change]:
    """What differs from the defaults for the size of `config`'s model; nothing if the size is unknown."""
    parameters = parameters_of(config.model.versioned_path)
    return list(_changes(config, sized_defaults(parameters))) if parameters else []


def _changes(config: RunConfig, wanted: SizedDefaults) -> Iterable[Change]:
    data = config.model_dump(mode="json")
    merges = bool(config.model.adapter)  # or trains it further: its own rank is not the size's to choose
    for name, after in wanted.values.items():
        if merges and name.startswith("model.lora."):
            continue
        section = _section(data, name)
        key = name.rpartition(".")[2]
        if section is not None and section.get(key) != after:
            yield Change(field=name, before=section.get(key), after=after)
    for index, environment in enumerate(config.environments):
        if environment.max_response_tokens != wanted.response_tokens:
            name = f"environments.{index}.{RESPONSE_TOKENS}"
            yield Change(field=name, before=environment.max_response_tokens, after=wanted.response_tokens)


def _section(data: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """The section with the field `name`; None if `data` has none, as an algorithm without a critic."""
    found: Any = data
    for part in name.split(".")[:-1]:
        found = found.get(part) if isinstance(found, Mapping) else found[int(part)] if isinstance(found, list) else None
    return found if isinstance(found, Mapping) else None


def same_size(path: str, other: str) -> bool:
    """Whether two models have the same defaults, or the size of the first is unknown."""
    own, others = parameters_of(path), parameters_of(other)
    return own is None or (others is not None and sized_defaults(own) is sized_defaults(others))


def with_sized_defaults(
    data: dict[str, Any], config: RunConfig, *, given: Collection[str] | None = None
) -> tuple[dict[str, Any], list[Change]]:
    """`data`, the configuration as it was written, with the defaults for its model's size where it says nothing;
    `config` is what `data` makes without them. Also the changes that were made. `given`: the dotted fields that stay,
    by default all of `data`."""
    stays = set(names_in(data) if given is None else given)
    made = [change for change in changes_of(config) if change.field not in stays]
    changed = deepcopy(data)
    if any(change.field.startswith("environments.") for change in made):
        changed.setdefault("environments", [{}])
    for change in made:
        set_field(changed, change.field, change.after)
    return changed, made


def as_recorded(data: dict[str, Any], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """`data` with the values of a run that is resumed, `recorded`, for the fields that follow the size and that it does
    not give: the size of a model may be known only once its files are there."""
    given, changed = set(names_in(data)), deepcopy(data)
    environments = range(min(len(data.get("environments", [{}])), len(recorded.get("environments", []))))
    if environments:
        changed.setdefault("environments", [{}])
    names = dict.fromkeys(name for size in SIZES for name in size.values)
    for name in [*names, *(f"environments.{index}.{RESPONSE_TOKENS}" for index in environments)]:
        section, key = _section(recorded, name), name.rpartition(".")[2]
        if name not in given and section is not None and key in section:
            set_field(changed, name, section[key])
    return changed


def names_in(data: Any, prefix: str = "") -> Collection[str]:
    """Dotted names of all values in `data`."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    found = [name for key, value in items for name in names_in(value, f"{prefix}{key}.")]
    return found or [prefix.removesuffix(".")]
