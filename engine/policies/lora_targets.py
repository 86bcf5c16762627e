"""Which layers `model.lora.targets` names, by the names of a model's weights. No torch, so that a form can use it."""

from __future__ import annotations

from collections.abc import Collection

from engine.config import LoraSection
from engine.policies.model_shape import ModelShape

ALL = "all-linear"


def names_of(targets: str) -> list[str]:
    return targets.replace(" ", "").split(",")


def is_target(layer: str, target: str) -> bool:
    """As peft matches names: the whole name of a layer, or the end of it after a dot."""
    return f".{layer}".endswith(f".{target}")


def is_adapted(layer: str, targets: str) -> bool:
    """Whether a linear layer between embedding and head gets an adapter."""
    return targets == ALL or any(is_target(layer, target) for target in names_of(targets))


def names_without_a_layer(layers: Collection[str], targets: str) -> list[str]:
    """The names that fit none of the layers."""
    if targets == ALL:
        return []
    return [target for target in names_of(targets) if not any(is_target(layer, target) for layer in layers)]


def unknown_targets(shape: ModelShape, lora: LoraSection) -> str:
    """The reason why the model does not have the named linear layers, with those it has; empty if it has them, or if
    the names of its weights are not known."""
    if not lora.rank or not shape.named_in_files:
        return ""
    layers = [name.removesuffix(".weight") for name in {**shape.linear, **shape.head}]
    unknown = names_without_a_layer(layers, lora.targets)
    if not unknown:
        return ""
    known = sorted({name.removesuffix(".weight").rpartition(".")[2] for name in shape.linear})
    return (
        f"The model has no linear layer {' and no linear layer '.join(unknown)}. "
        f"Use {ALL}, or names from {', '.join(known)}, separated by commas."
    )
