"""LoRA (arXiv 2106.09685): a low-rank update of each linear layer, which alone is trained.

The adapter is injected into the model, so the sampler and the diagnostics use the model as before. Checkpoints hold the
adapter on its own, in peft's format, and also the model with the adapter merged, which any program can load.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from math import sqrt
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.func import functional_call

from engine.config import LoraSection, ModelConfig
from engine.errors import ModelError
from engine.policies.adapter_files import PREFIX, WEIGHTS, read_adapter
from engine.policies.linear_layers import is_linear
from engine.policies.loading import LanguageModel
from engine.policies.lora_targets import ALL, names_of, names_without_a_layer

NAME = "default"


def add_adapter(model: LanguageModel, lora: LoraSection, *, ranks: Mapping[str, int] | None = None) -> None:
    """Adds a fresh adapter, whose update is 0, and freezes everything else. `ranks` has the names of the layers to
    adapt, each with its rank; without it they are those of `lora`. `ModelError` on unknown layers."""
    from peft import inject_adapter_in_model

    if ranks is None:
        _check_targets(model, lora)
        config = _peft_config(lora, _targets(model, lora))
    else:
        _check_layers(model, ranks)
        config = _peft_config(lora, sorted(ranks))
        config.rank_pattern = {re.escape(name): rank for name, rank in ranks.items() if rank != lora.rank}
    around = _without_configuration(model)
    try:
        inject_adapter_in_model(config, around, adapter_name=NAME)
    except ValueError as error:
        raise ModelError(
            f"model.lora.targets {lora.targets!r} does not fit {type(model).__name__}: {error}",
            remedy=_known_targets(model),
        ) from error
    model.peft_config = around.peft_config
    for name, weight in model.named_parameters():
        if ".lora_A." in name and not weight.is_meta:
            weight.data.copy_(fresh_weight(name, weight))

    head = model.get_output_embeddings()
    if head in adapted(model).values() and head.weight is model.get_input_embeddings().weight:
        raise ModelError(
            f"The head of {type(model).__name__} shares its weights with the embedding, so it cannot have an adapter.",
            remedy="Remove it from model.lora.targets; all-linear leaves it out.",
        )


def _without_configuration(model: LanguageModel) -> nn.Module:
    """A module that peft does not take for a model of transformers. Where it knows a model with merged experts, it
    would adapt these in place of linear layers that have the names they had, such as those of shared experts."""
    around = nn.Module()
    around.add_module("model", model)
    return around


def _check_targets(model: LanguageModel, lora: LoraSection) -> None:
    """peft itself refuses names only if no layer has any of them, and adapts the routers of experts."""
    linear = [name for name, part in model.named_modules() if is_linear(part)]
    unknown = names_without_a_layer(linear, lora.targets)
    if unknown:
        raise ModelError(
            f"model.lora.targets names {', '.join(unknown)}, and {type(model).__name__} has no such linear layer.",
            remedy=_known_targets(model),
        )


def _check_layers(model: LanguageModel, layers: Collection[str]) -> None:
    linear = {name for name, part in model.named_modules() if is_linear(part)}
    missing = next((layer for layer in layers if layer not in linear), None)
    if missing is not None:
        raise ModelError(
            f"The adapter is of a layer {missing}, and {type(model).__name__} has no linear layer of that name.",
            remedy="Use the model that the adapter was trained with.",
        )


def _known_targets(model: LanguageModel) -> str:
    linear = {name.rpartition(".")[2] for name, part in model.named_modules() if is_linear(part)}
    return f"Use {ALL}, or names from {', '.join(sorted(linear))}, separated by commas."


def fresh_weight(name: str, weight: Tensor) -> Tensor:
    """The initial value of the adapter weight `name`: `lora_A` uniform as in peft, `lora_B` 0.

    It depends only on torch's seed and the name, so that sharded learners start from the same values as a single one.
    """
    if ".lora_A." not in name:
        return torch.zeros(weight.shape)
    stream = torch.Generator().manual_seed((torch.initial_seed() + crc32(name.encode())) % 2**63)
    most = 1 / sqrt(weight.shape[-1])  # He's bound for a slope of sqrt(5), arXiv 1502.01852
    return torch.empty(weight.shape).uniform_(-most, most, generator=stream)


def _targets(model: LanguageModel, lora: LoraSection) -> list[str]:
    """Names of the layers to adapt. peft's own all-linear includes merged experts, which are no linear layers."""
    if lora.targets != ALL:
        return names_of(lora.targets)
    return sorted({name.rpartition(".")[2] for name, part in model.base_model.named_modules() if is_linear(part)})


def _peft_config(lora: LoraSection, targets: list[str]) -> Any:
    from peft import LoraConfig

    return LoraConfig(r=lora.rank, lora_alpha=lora.alpha, target_modules=targets, task_type="CAUSAL_LM")


def adapted(model: nn.Module) -> dict[str, Any]:
    """The layers with an adapter, by name."""
    if "peft" not in sys.modules:
        return {}  # nothing has added one; to import it takes seconds

    from peft.tuners.lora import LoraLayer

    return {name: part for name, part in model.named_modules() if isinstance(part, LoraLayer)}


@contextmanager
def adapter_off(model: nn.Module) -> Iterator[None]:
    """Within it the model computes without its adapter.

    The adapter stays trainable meanwhile, which peft would change: FSDP2 reads at its first forward pass what trains.
    """
    layers = adapted(model).values()
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    for layer in layers:
        layer.enable_adapters(False)
    for weight in trained:
        weight.requires_grad_(True)
    try:
        yield
    finally:
        for layer in layers:
            layer.enable_adapters(True)


def merged_state(model: nn.Module, fetch: Callable[[Tensor], Tensor] = torch.detach) -> dict[str, Tensor]:
    """The weights of an equivalent model without an adapter, under that model's names. Those that are merged are in
    main memory, so that a GPU holds one of them at a time. `fetch` as for `merged_weight`."""
    from peft.tuners.lora import LoraLayer

    layers = adapted(model)
    state: dict[str, Tensor] = {
        name.replace(".base_layer.", "."): weight
        for name, weight in model.state_dict().items()
        if not any(part in LoraLayer.adapter_layer_names for part in name.split("."))
    }
    for name, layer in layers.items():
        state[f"{name}.weight"] = merged_weight(layer, fetch).cpu()
    return state


def merged_weight(layer: Any, fetch: Callable[[Tensor], Tensor] = torch.detach) -> Tensor:
    """A layer's weight with the adapter merged. `fetch` is called for each weight this needs, in the same order in
    every process, since shards have to be gathered."""
    weight = fetch(layer.get_base_layer().weight)
    own = {name: fetch(part) for name, part in layer.named_parameters() if not name.startswith("base_layer.")}
    update: Tensor = functional_call(_Update(layer), {f"layer.{name}": part for name, part in own.items()}, ())
    return weight.to(update.dtype) + update.detach()


class _Update(nn.Module):
    """peft's own formula for a layer's update, with the weights that are passed in."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self) -> Tensor:
        update: Tensor = self.layer.get_delta_weight(NAME)
        return update


def adapter_parameters(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """The adapter's weights under the model's names."""
    return ((name, weight) for name, weight in model.named_parameters() if ".lora_" in name)


def adapter_state(model: nn.Module) -> dict[str, Tensor]:
    """The adapter's weights in main memory."""
    return {name: weight.detach().cpu() for name, weight in adapter_parameters(model)}


def save_adapter(
    model: nn.Module, lora: LoraSection, directory: Path, *, base: ModelConfig, state: dict[str, Tensor] | None = None
) -> None:
    """Writes the adapter in peft's format, for the model `base`. `state` has its whole weights if the
    model is sharded."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    directory.mkdir(parents=True)
    config = _peft_config(lora, _adapted_names(model))
    config.base_model_name_or_path, config.revision, config.inference_mode = base.path, base.revision or None, True
    config.save_pretrained(directory)
    own = get_peft_model_state_dict(model, state_dict=state, adapter_name=NAME)
    save_file({PREFIX + name: weight.contiguous() for name, weight in own.items()}, directory / WEIGHTS)


def _adapted_names(model: nn.Module) -> list[str]:
    """The last parts of the names of the adapted layers, or whole names if a layer with such a last part has none."""
    layers = adapted(model)
    last = {name.rpartition(".")[2] for name in layers}
    plain = (name for name, part in model.named_modules() if is_linear(part) and name not in layers)
    return sorted(layers if any(name.rpartition(".")[2] in last for name in plain) else last)


def load_adapter(model: nn.Module, directory: Path) -> None:
    """Loads weights into an adapter that was added before; `ModelError` if they do not fit."""
    from peft import set_peft_model_state_dict
    from safetensors.torch import load_file

    state = {name.removeprefix(PREFIX): weight for name, weight in load_file(directory / WEIGHTS).items()}
    try:
        found = set_peft_model_state_dict(model, state, adapter_name=NAME)
        missing = [name for name in found.missing_keys if "lora_" in name] + list(found.unexpected_keys)
    except RuntimeError as error:
        missing = [str(error).splitlines()[-1].strip()]
    if missing:
        raise ModelError(
            f"The adapter in {directory} does not fit this model: {missing[0]}",
            remedy="Use the model and the model.lora that it was trained with.",
        )


def ranks_of(directory: Path | None) -> Mapping[str, int] | None:
    """The layers of the adapter in `directory`, with their ranks; None without one."""
    return None if directory is None else read_adapter(str(directory)).ranks


def merge_adapter(model: LanguageModel, directory: Path) -> None:
    """Adds the adapter in `directory` to the model's weights, all of which then train. `ModelError` if it does not
    fit."""
    found = read_adapter(str(directory))
    add_adapter(model, found.lora, ranks=found.ranks)
    load_adapter(model, directory)
    for name, layer in adapted(model).items():
        plain = layer.get_base_layer()
        plain.weight.data = merged_weight(layer).to(plain.weight.dtype)
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, plain)
    model.requires_grad_(True)
