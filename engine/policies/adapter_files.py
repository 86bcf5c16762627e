"""A LoRA adapter in peft's format, read off its files: what it is, and why a run cannot start with it. No torch."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.config import LoraSection
from engine.errors import ModelError
from engine.policies.lora_targets import ALL, names_of
from engine.policies.model_shape import ModelShape, Sizes, read_limited, tensor_sizes

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
PREFIX = "base_model.model."  # the prefix of peft's names
MAX_CONFIG_BYTES = 1024**2
REMEDY = f"Give the directory that holds {CONFIG} and {WEIGHTS}, as peft's save_pretrained writes them."
# variants that compute something else than the weight plus alpha / rank times B A, with the value that turns them off
PLAIN: dict[str, tuple[Any, ...]] = {
    # other initialisations change the base's weights, which are not in the adapter's files
    "init_lora_weights": (True, "gaussian", "eva", "orthogonal"), "kasa_config": ({},), "monteclora_config": ({},),
    "arrow_config": ({},), "use_bdlora": (False, {}),
    "bias": ("none",), "use_rslora": (False,), "use_dora": (False,), "use_qalora": (False,), "lora_bias": (False,),
    "alpha_pattern": ({},), "modules_to_save": ([],), "layer_replication": ([],),
    "target_parameters": ([],), "trainable_token_indices": ([],), "alora_invocation_tokens": ([],),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterFiles:
    """`layers` has the sizes (out, in) of each adapted layer's update, by the layer's name, and `ranks` the rank of
    each. `base` is what the adapter says it was trained on."""

    folder: Path
    rank: int
    alpha: float
    layers: Mapping[str, tuple[int, int]]
    ranks: Mapping[str, int]
    base: str
    parameters: int

    @property
    def targets(self) -> str:
        """As `model.lora.targets` names them."""
        return ",".join(sorted({last(layer) for layer in self.layers}))

    @property
    def lora(self) -> LoraSection:
        """The settings it was trained with."""
        return LoraSection(rank=self.rank, alpha=self.alpha, targets=self.targets)


def read_adapter(path: str) -> AdapterFiles:
    """`ModelError` for a directory without an adapter, or with one that is no plain LoRA."""
    folder = Path(path)
    try:
        folder = folder.expanduser()
        missing = [name for name in (CONFIG, WEIGHTS) if not (folder / name).is_file()]
        if missing:
            what = f"has no {' and no '.join(missing)}" if folder.is_dir() else "does not exist"
            raise ModelError(f"The adapter's directory {path} {what}.", remedy=REMEDY)
        config = json.loads(read_limited(folder / CONFIG, MAX_CONFIG_BYTES))
        tensors = dict(tensor_sizes(folder / WEIGHTS))
        _require_plain(path, config)
        rank, alpha = config["r"], config["lora_alpha"]
        ranks = _ranks(tensors, None if config.get("rank_pattern") else rank)
        LoraSection(rank=rank, alpha=alpha)  # refuses what a run could not have
        return AdapterFiles(
            folder=folder,
            rank=rank,
            alpha=alpha,
            layers=_layers(tensors, ranks),
            ranks=ranks,
            base=str(config.get("base_model_name_or_path") or ""),
            parameters=sum(one * other for one, other in tensors.values()),
        )
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise ModelError(f"The files in {path} do not describe a LoRA adapter: {error}.", remedy=REMEDY) from error


def _require_plain(path: str, config: Any) -> None:
    if config.get("peft_type") != "LORA":
        raise ModelError(
            f"The adapter in {path} is of the type {config.get('peft_type')}, and only LORA is supported.",
            remedy="Give a LoRA adapter, or merge this one into its model with peft and give that as model.path.",
        )
    for name, off in PLAIN.items():
        if config.get(name) and config[name] not in off:
            raise ModelError(
                f"The adapter in {path} has {name} {json.dumps(config[name])}, which is not supported.",
                remedy="Merge it into its model with peft (merge_and_unload) and give that as model.path.",
            )


def _ranks(tensors: Mapping[str, Sizes], only: int | None) -> dict[str, int]:
    """By layer, from the sizes of its A (rank, in) and B (out, rank); `only` is the rank that all must have."""
    found: dict[str, int] = {}
    for name, sizes in tensors.items():
        layer, part, rest = name.removeprefix(PREFIX).partition(".lora_")
        if not name.startswith(PREFIX) or part == "" or rest not in ("A.weight", "B.weight"):
            raise ValueError(f"it has a tensor {name}")
        other = tensors.get(name.replace(".lora_A.", ".lora_B.") if rest[0] == "A" else name)
        if other is None or (rest[0] == "B" and name.replace(".lora_B.", ".lora_A.") not in tensors):
            raise ValueError(f"{layer} has only one of its two tensors")
        if rest[0] == "A":
            if len(sizes) != 2 or len(other) != 2 or sizes[0] != other[1] or sizes[0] != (only or sizes[0]):
                raise ValueError(f"{layer} is not of rank {only or sizes[0]}, which {CONFIG if only else 'its A'} says")
            found[layer] = sizes[0]
    if not tensors:
        raise ValueError("it has no tensor")
    return found


def _layers(tensors: Mapping[str, Sizes], names: Iterable[str]) -> dict[str, tuple[int, int]]:
    a, b = (f"{PREFIX}{{}}.lora_{part}.weight" for part in "AB")
    return {name: (tensors[b.format(name)][0], tensors[a.format(name)][1]) for name in names}


def _is_layer(name: str, layer: str) -> bool:
    """Whether the weight is of the layer; files may have names without the prefix of the body."""
    weight = name.removesuffix(".weight")
    return f".{layer}".endswith(f".{weight}") or f".{weight}".endswith(f".{layer}")


def last(layer: str) -> str:
    return layer.rpartition(".")[2]


def misfits(adapter: AdapterFiles, lora: LoraSection, shape: ModelShape | None) -> Iterator[tuple[str, str]]:
    """`(dotted field, reason)` for each setting that does not fit the adapter. `shape` is the model's, None if it is
    not on this machine."""
    if shape is not None and shape.named_in_files and (why := _misfit(adapter, shape)):
        yield "model.adapter", f"The adapter in {adapter.folder} does not fit the model: {why}"
    if not lora.rank:
        return
    if (least := min(adapter.ranks.values())) != (most := max(adapter.ranks.values())):
        yield (
            "model.lora.rank",
            f"Layers of the adapter have ranks from {least} to {most}, and a run trains one rank. Use rank 0 to merge "
            "the adapter and train all weights.",
        )
        return
    both = "Use the same value, or rank 0 to merge the adapter and train all weights."
    if lora.rank != adapter.rank:
        yield "model.lora.rank", f"The run has rank {lora.rank}, and its adapter has {adapter.rank}. {both}"
    if lora.alpha != adapter.alpha:
        yield "model.lora.alpha", f"The run has alpha {lora.alpha:g}, and its adapter has {adapter.alpha:g}. {both}"
    wanted = _wanted(lora, shape)
    if wanted is not None and wanted != set(names_of(adapter.targets)):
        yield (
            "model.lora.targets",
            f"The run adapts {', '.join(sorted(wanted))}, and its adapter {', '.join(names_of(adapter.targets))}. "
            f"Use {adapter.targets}, or rank 0 to merge the adapter and train all weights.",
        )


def _wanted(lora: LoraSection, shape: ModelShape | None) -> set[str] | None:
    """Last parts of the names of the layers that the run adapts; None where they are not known."""
    if lora.targets != ALL:
        return {last(name) for name in names_of(lora.targets)}
    if shape is None or not shape.named_in_files or any(".experts." in name for name in shape.matrices):
        return None  # routers and experts are matrices that are no layers
    return {last(name.removesuffix(".weight")) for name in shape.matrices}


def _misfit(adapter: AdapterFiles, shape: ModelShape) -> str:
    for layer, sizes in adapter.layers.items():
        if ".experts." in layer:
            return (
                f"it updates {layer}, and experts are merged into one tensor when the model is loaded. Merge it into "
                "its model with peft (merge_and_unload) and give that as model.path."
            )
        own = next((size for name, size in shape.weights.items() if _is_layer(name, layer)), None)
        if own is None:
            return f"the model has no layer {layer}."
        if sorted(own) != sorted(sizes):  # GPT-2 stores the transpose
            return f"its update of {layer} is {sizes[0]} x {sizes[1]}, and the weight is {' x '.join(map(str, own))}."
    return ""
