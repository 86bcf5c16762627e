"""LoRA (arXiv 2106.09685): a low-rank update beside each linear layer, which alone is trained.

The adapter sits inside the model, which stays what it was to everybody else: the sampler and the diagnostics read
through it. Checkpoints hold the adapter by itself, in peft's format, and beside it the model with the update added
into its weights, which any program loads without knowing of adapters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import sqrt
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.func import functional_call

from engine.config import LoraSection
from engine.errors import ModelError
from engine.policies.loading import LanguageModel

NAME = "default"
WEIGHTS = "adapter_model.safetensors"
PREFIX = "base_model.model."  # what peft puts before the names of a model that it wraps


def add_adapter(model: LanguageModel, lora: LoraSection) -> None:
    """Adds a fresh adapter, whose update is 0, and freezes everything else. `ModelError` on unknown targets."""
    from peft import inject_adapter_in_model

    try:
        inject_adapter_in_model(_peft_config(lora), model, adapter_name=NAME)
    except ValueError as error:
        linear = {name.rpartition(".")[2] for name, part in model.named_modules() if isinstance(part, nn.Linear)}
        raise ModelError(
            f"model.lora.targets {lora.targets!r} does not fit {type(model).__name__}: {error}",
            remedy=f"Use all-linear, or names out of {', '.join(sorted(linear))}, separated by commas.",
        ) from error
    for name, weight in model.named_parameters():
        if ".lora_A." in name and not weight.is_meta:
            weight.data.copy_(fresh_weight(name, weight))

    head = model.get_output_embeddings()
    if head in adapted(model).values() and head.weight is model.get_input_embeddings().weight:
        raise ModelError(
            f"The head of {type(model).__name__} shares its weights with the embedding, so it can have no update.",
            remedy="Leave it out of model.lora.targets; all-linear does.",
        )


def fresh_weight(name: str, weight: Tensor) -> Tensor:
    """What the weight `name` of an adapter begins as: `lora_A` uniform as peft has it, `lora_B` 0.

    It depends on torch's seed and the name alone, so that learners that hold parts of a model begin as one that holds
    it all.
    """
    if ".lora_A." not in name:
        return torch.zeros(weight.shape)
    stream = torch.Generator().manual_seed((torch.initial_seed() + crc32(name.encode())) % 2**63)
    most = 1 / sqrt(weight.shape[-1])  # He's bound for a slope of sqrt(5), arXiv 1502.01852
    return torch.empty(weight.shape).uniform_(-most, most, generator=stream)


def _peft_config(lora: LoraSection) -> Any:
    from peft import LoraConfig

    targets = lora.targets if lora.targets == "all-linear" else lora.targets.replace(" ", "").split(",")
    return LoraConfig(r=lora.rank, lora_alpha=lora.alpha, target_modules=targets, task_type="CAUSAL_LM")


def adapted(model: nn.Module) -> dict[str, Any]:
    """The layers that carry an update, by name."""
    from peft.tuners.lora import LoraLayer

    return {name: part for name, part in model.named_modules() if isinstance(part, LoraLayer)}


@contextmanager
def adapter_off(model: nn.Module) -> Iterator[None]:
    """Within it the model is the one that the adapter was added to."""
    layers = adapted(model).values()
    for layer in layers:
        layer.enable_adapters(False)
    try:
        yield
    finally:
        for layer in layers:
            layer.enable_adapters(True)


def merged_state(model: nn.Module) -> dict[str, Tensor]:
    """The weights of the model without an adapter that computes the same, under that model's names."""
    from peft.tuners.lora import LoraLayer

    layers = adapted(model)
    state: dict[str, Tensor] = {
        name.replace(".base_layer.", "."): weight
        for name, weight in model.state_dict().items()
        if not any(part in LoraLayer.adapter_layer_names for part in name.split("."))
    }
    for name, layer in layers.items():
        state[f"{name}.weight"] = merged_weight(layer)
    return state


def merged_weight(layer: Any, whole: Callable[[Tensor], Tensor] = torch.detach) -> Tensor:
    """A layer's weight with its update added in. `whole` is asked for each weight that this takes, in the same order in
    every process: shards have to be gathered."""
    weight = whole(layer.get_base_layer().weight)
    own = {name: whole(part) for name, part in layer.named_parameters() if not name.startswith("base_layer.")}
    update: Tensor = functional_call(_Update(layer), {f"layer.{name}": part for name, part in own.items()}, ())
    return weight + update.detach().to(weight.dtype)


class _Update(nn.Module):
    """peft's own formula for a layer's update, of whatever weights stand in for the layer's."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self) -> Tensor:
        update: Tensor = self.layer.get_delta_weight(NAME)
        return update


def adapter_state(model: nn.Module, whole: Callable[[Tensor], Tensor] = torch.detach) -> dict[str, Tensor]:
    """An adapter's own weights by the model's names; `whole` as for `merged_weight`."""
    return {name: whole(weight).cpu() for name, weight in model.named_parameters() if ".lora_" in name}


def save_adapter(
    model: nn.Module, lora: LoraSection, directory: Path, *, base: str, state: dict[str, Tensor] | None = None
) -> None:
    """Writes it as peft does; `base` is the path or id of the model that it belongs to. `state` is its weights, where
    the model has shards of them."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    directory.mkdir(parents=True)
    config = _peft_config(lora)
    config.base_model_name_or_path, config.inference_mode = base, True
    config.save_pretrained(directory)
    own = get_peft_model_state_dict(model, state_dict=state, adapter_name=NAME)
    save_file({PREFIX + name: weight.contiguous() for name, weight in own.items()}, directory / WEIGHTS)


def load_adapter(model: nn.Module, directory: Path) -> None:
    """Weights into an adapter that was added before; `ModelError` when it is another one."""
    from peft import set_peft_model_state_dict
    from safetensors.torch import load_file

    state = {name.removeprefix(PREFIX): weight for name, weight in load_file(directory / WEIGHTS).items()}
    try:
        found = set_peft_model_state_dict(model, state, adapter_name=NAME)
        lacking = [name for name in found.missing_keys if "lora_" in name] + list(found.unexpected_keys)
    except RuntimeError as error:
        lacking = [str(error).splitlines()[-1].strip()]
    if lacking:
        raise ModelError(
            f"The adapter in {directory} is not one of this model: {lacking[0]}",
            remedy="Resume with the model and the model.lora that the run began with.",
        )
