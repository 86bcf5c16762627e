"""Models on the meta device, created without weights, so that each of several learners reads only its own shard.

A meta model has everything but its parameters: shapes, buffers that no file holds, the layers of an adapter. It is
sharded first and materialized then (`engine.training.materialize`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from engine.config import LoraSection
from engine.errors import ModelError
from engine.policies.adapter import NAME, add_adapter, fresh_weight, ranks_of
from engine.policies.adapter_files import PREFIX, WEIGHTS
from engine.policies.loading import LanguageModel, check_architecture, first_line
from engine.policies.model_config import model_config
from engine.policies.model_paths import check_model_path, model_revision, model_source
from engine.policies.weight_files import StoredTensor, stored_tensors

A_OR_B = (f".lora_A.{NAME}.weight", f".lora_B.{NAME}.weight")


class NeedsWholeLoad(Exception):
    """The reason why each learner has to load the whole model."""


@dataclass(frozen=True, slots=True)
class WeightSource:
    """Where a meta model's weights are read from, and the device they go to. `stored` has the names of the model's
    state dict; `prefix` is the prefix of the names of its body."""

    stored: Mapping[str, StoredTensor]
    prefix: str
    device: torch.device

    def tensor(self, name: str, weight: Tensor) -> StoredTensor | Tensor:
        """The whole tensor of `weight`; the initial value for a fresh adapter."""
        return self.stored[name] if name in self.stored else fresh_weight(name, weight)


def meta_model(path: str, *, device: str, lora: LoraSection, adapter: Path | None = None) -> LanguageModel:
    """The model of `load_model` on the meta device, with an adapter if `lora` has a rank: a fresh one, or that in the
    folder `adapter`.

    `NeedsWholeLoad` for a model that cannot be read in parts, or an adapter that has to be merged; `ModelError` for an
    adapter that does not fit.
    """
    check_model_path(path)
    if adapter is not None and not lora.rank:
        raise NeedsWholeLoad("an adapter is merged into it")
    stored = stored_tensors(_files_of(path))
    model = _without_weights(path)
    found = _by_name_of_state(model, model.state_dict(), stored)
    if lora.rank:
        add_adapter(model, lora, ranks=ranks_of(adapter))
        layers = {name: weight for name, weight in model.named_parameters() if ".lora_" in name}
        if not all(name.endswith(A_OR_B) for name in layers):
            raise NeedsWholeLoad("its adapter is not of linear layers alone")
        found = {name: found[name.replace(".base_layer.", ".")] for name in model.state_dict() if name not in layers}
        if adapter is not None:
            found |= _adapter_of(adapter, layers)
    prefix = f"{model.base_model_prefix}." if model.base_model is not model else ""
    model.base_model.weight_source = WeightSource(found, prefix, torch.device(device))
    return model


def _files_of(path: str) -> list[Path]:
    """Its safetensors files, downloaded if `path` is a hub id."""
    from transformers.utils import cached_file
    from transformers.utils.hub import get_checkpoint_shard_files

    source, revision = model_source(path), model_revision(path)

    def find(name: str) -> str | None:
        found: str | None = cached_file(source, name, revision=revision, _raise_exceptions_for_missing_entries=False)
        return found

    try:
        if find("adapter_config.json"):
            raise NeedsWholeLoad("its folder holds an adapter")
        if whole := find("model.safetensors"):
            return [Path(whole)]
        if index := find("model.safetensors.index.json"):
            return [Path(part) for part in get_checkpoint_shard_files(source, index, revision=revision)[0]]
    except OSError as error:
        raise NeedsWholeLoad(first_line(error)) from error
    raise NeedsWholeLoad("its weights are not stored as safetensors")


def _without_weights(path: str) -> LanguageModel:
    from accelerate import init_empty_weights
    from transformers import AutoModelForCausalLM, GenerationConfig

    try:
        config = model_config(path)
        if getattr(config, "quantization_config", None) or getattr(config, "transformers_weights", None):
            raise NeedsWholeLoad("its weights are quantized, or in files with other names")
        with init_empty_weights(include_buffers=False):
            model = AutoModelForCausalLM.from_config(
                config, trust_remote_code=False, dtype=torch.float32, attn_implementation="sdpa"
            )
    except (ValueError, OSError, RuntimeError, AttributeError, KeyError, TypeError) as error:
        raise NeedsWholeLoad(first_line(error)) from error
    check_architecture(model)
    model.tie_weights()  # moving tied parameters to `meta` separated them
    with suppress(OSError):  # there is none: the one derived from its configuration stays
        model.generation_config = GenerationConfig.from_pretrained(model_source(path), revision=model_revision(path))
    return model.eval()


def keeps_names(model: LanguageModel, path: str) -> bool:
    """Whether the files at `path` have the names and shapes of the model's own weights, those of an adapter left out.
    Then files that are written with its names can be loaded in their place."""
    state = {
        name.replace(".base_layer.", "."): weight for name, weight in model.state_dict().items() if ".lora_" not in name
    }
    try:
        _by_name_of_state(model, state, stored_tensors(_files_of(path)))
    except NeedsWholeLoad:
        return False
    return True


def _by_name_of_state(
    model: LanguageModel, state: Mapping[str, Tensor], stored: Mapping[str, StoredTensor]
) -> dict[str, StoredTensor]:
    """The stored tensor of each parameter and buffer; `NeedsWholeLoad` unless all are there, in the model's shapes."""
    found = dict(_renamed(model, state, stored))
    for tied, one in model.all_tied_weights_keys.items():
        if tied in found and one in found:
            raise NeedsWholeLoad(f"it stores both {one} and {tied}, which are tied")
        if tied in found or one in found:
            found[tied] = found[one] = found.get(one) or found[tied]
    for name, weight in state.items():
        if name not in found:
            raise NeedsWholeLoad(f"{name} is missing in its files")
        if found[name].shape != weight.shape:
            raise NeedsWholeLoad(f"{name} has a different shape in its files")
    return found


def _renamed(
    model: LanguageModel, state: Mapping[str, Tensor], stored: Mapping[str, StoredTensor]
) -> Iterator[tuple[str, StoredTensor]]:
    """Renamed by transformers' rules. Only adding or removing the body's prefix is supported."""
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import WeightConverter, rename_source_key

    rules, prefix = get_model_conversion_mapping(model), model.base_model_prefix
    converters = [rule for rule in rules if isinstance(rule, WeightConverter)]
    renamings = [rule for rule in rules if not isinstance(rule, WeightConverter)]
    for key, tensor in stored.items():
        name, converter = rename_source_key(key, renamings, converters, prefix, state)
        own = {key, f"{prefix}.{key}", key.removeprefix(f"{prefix}.")}
        if converter is not None or (name in state and name not in own):
            raise NeedsWholeLoad(f"transformers rearranges its weights as they are loaded, such as {key}")
        if name in state:
            yield name, tensor


def _adapter_of(folder: Path, layers: Mapping[str, Tensor]) -> dict[str, StoredTensor]:
    stored = stored_tensors([folder / WEIGHTS])
    found = {name: stored.get(PREFIX + name.replace(f".{NAME}.", ".")) for name in layers}
    fitting = {
        name: tensor for name, tensor in found.items() if tensor is not None and tensor.shape == layers[name].shape
    }
    if len(fitting) < len(layers) or len(stored) > len(layers):
        missing = min(found.keys() - fitting.keys(), default="it has additional weights")
        raise ModelError(
            f"The adapter in {folder} does not fit this model: {missing}",
            remedy="Use the model and the model.lora that it was trained with.",
        )
    return fitting
