"""The shape of a model, read from its files: sizes from config.json, weights from the headers of the safetensors.

Without torch and transformers, so that a form can use it.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

from engine.errors import ModelError
from engine.policies.assumed_weights import gated_decoder
from engine.policies.model_paths import local_folder, model_revision, model_source

Sizes = tuple[int, ...]
FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
MAX_CONFIG_BYTES = 1024**2
MAX_HEADER_BYTES = 64 * 1024**2
FILE_BYTES = 4 * 1024**3  # of one file written by several learners, and so of the memory it takes
MOST_LAYERS = 10_000
HUB_ID = r"[\w.-]{1,96}(/[\w.-]{1,96})?"
HEADS = frozenset({"lm_head", "embed_out"})
EMBEDDING = re.compile(r"(^|\.)(embed_tokens|wte|word_embeddings|embed_in|tok_embeddings)\.weight$")
POSITIONS = re.compile(r"(^|\.)(wpe|embed_positions)\.weight$")
TRANSPOSED = frozenset({"gpt2", "openai-gpt"})
ROUTERS = ("gate", "router")  # beside the experts that they choose
BUFFER = "e_score_correction_bias"  # of DeepSeek's routers: in the files, and not trained
LAYER = re.compile(r"(^|\.)(layers|h|blocks)\.(\d+)\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """A decoder. `weights` has the sizes of each by name, without a tied head."""

    architecture: str
    model_type: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    intermediate: int
    vocabulary: int
    tied: bool
    positions: int  # maximum position embeddings; 0 if not configured
    weights: Mapping[str, Sizes]
    caps_logits: bool = False  # as Gemma 2 does
    caps_scores: bool = False  # of attention, as Gemma 2 does too
    window: int = 0  # tokens that windowed layers read; 0 without
    windowed_layers: int = 0
    experts: int = 0  # of a layer, among which the router chooses; 0 without
    experts_per_token: int = 0
    expert_intermediate: int = 0
    latent: int = 0  # numbers in the cache for a token and layer that has keys and values compressed; 0 without
    in_parts: bool = True  # whether each of several learners can read only its own part of the files
    named_in_files: bool = True  # false where the names of the weights are assumed, since their files are not here

    @property
    def parameters(self) -> int:
        return sum(prod(sizes) for sizes in self.weights.values())

    @property
    def cached(self) -> int:
        """Numbers in the cache for a token and layer."""
        return self.latent or 2 * self.kv_heads * self.head_size

    @property
    def body(self) -> dict[str, Sizes]:
        """All weights except the head's."""
        return {name: sizes for name, sizes in self.weights.items() if name.partition(".")[0] not in HEADS}

    @property
    def head(self) -> dict[str, Sizes]:
        """Empty if it is tied."""
        return {name: sizes for name, sizes in self.weights.items() if name.partition(".")[0] in HEADS}

    @property
    def embedding(self) -> dict[str, Sizes]:
        return {name: sizes for name, sizes in self.weights.items() if EMBEDDING.search(name)}

    @property
    def matrices(self) -> dict[str, Sizes]:
        """All between embedding and head."""
        return {name: sizes for name, sizes in self.body.items() if len(sizes) == 2 and LAYER.search(name)}

    @property
    def linear(self) -> dict[str, Sizes]:
        """The matrices of linear layers: without experts, which transformers merges into tensors with a third axis, and
        their routers, which are layers of their own."""
        routers = {f"{name.partition('.experts.')[0]}.{router}.weight" for name in self.weights for router in ROUTERS}
        return {name: sizes for name, sizes in self.matrices.items() if ".experts." not in name and name not in routers}

    @property
    def rounds_norms_last(self) -> bool:
        """Gemma's norms multiply with their weight plus 1 before they round the result."""
        return self.model_type.startswith("gemma")

    @property
    def transposed(self) -> bool:
        """Matrices of linear layers are stored as (in, out): transformers' `Conv1D`."""
        return self.model_type in TRANSPOSED

    @property
    def rotates(self) -> bool:
        """Positions rotate queries and keys (RoPE, arXiv 2104.09864), as there are no embeddings of positions."""
        return not any(POSITIONS.search(name) for name in self.weights)


def model_shape(path: str) -> ModelShape:
    """The shape of a model; `path` as for `load_model`, with hub ids looked up in the local cache only.

    `ModelError` if its configuration is not on this machine, or has no sizes of a decoder.
    """
    folder = folder_of(path)
    if folder is None:
        raise ModelError(
            f"{path!r} is not on this machine yet, so its shape is unknown.",
            remedy="Give a directory, or download the model into the local Hugging Face cache.",
        )
    try:
        return _read(folder, tuple(_stamp(file) for file in (folder / "config.json", *_weights(folder))))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise ModelError(
            f"The files in {folder} do not describe a language model.",
            remedy="Give a directory with the config.json and the safetensors of a decoder.",
        ) from error


def folder_of(path: str) -> Path | None:
    """The directory with config.json, if it is on this machine."""
    if (folder := local_folder(path)) is not None:
        return folder
    source, revision = model_source(path), model_revision(path)
    if source.startswith((".", "/", "~")) or not re.fullmatch(HUB_ID, source):
        return None
    from huggingface_hub import try_to_load_from_cache

    try:
        found = try_to_load_from_cache(source, "config.json", revision=revision)
    except ValueError:  # not a valid hub id
        return None
    return Path(found).parent if isinstance(found, str) else None


def _weights(folder: Path) -> list[Path]:
    """The files with the weights; empty unless all of them are there."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        parts = {
            folder / Path(part).name
            for part in json.loads(read_limited(index, MAX_HEADER_BYTES))["weight_map"].values()
        }
        return sorted(parts) if all(part.is_file() for part in parts) else []
    whole = folder / "model.safetensors"
    return [whole] if whole.is_file() else []


def _stamp(file: Path) -> tuple[str, int, int]:
    """Identifies the version of a file; its size too, since two writes may have the same modification time."""
    status = file.stat()
    return file.name, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _read(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> ModelShape:
    config = json.loads(read_limited(folder / "config.json", MAX_CONFIG_BYTES))
    found = {name: sizes for file in _weights(folder) for name, sizes in tensor_sizes(file) if BUFFER not in name}
    sizes, tied = _sizes(config), _tied(config)
    named_in_files = bool(found)
    if not found:
        found = dict(gated_decoder(sizes, tied=bool(tied), biased=config.get("model_type") == "qwen2"))
    in_parts = _can_be_read_in_parts(folder, found, named_in_files=named_in_files, tied=bool(tied))
    head = {name for name in found if name.partition(".")[0] in HEADS}
    tied = not head if tied is None else tied
    weights = {name: size for name, size in found.items() if not (tied and name in head)}
    return ModelShape(
        **sizes, **_names(config), tied=tied, weights=weights, in_parts=in_parts, named_in_files=named_in_files
    )


def _can_be_read_in_parts(folder: Path, found: Mapping[str, Sizes], *, named_in_files: bool, tied: bool) -> bool:
    """Files that are not on this machine yet are assumed to be safetensors. Experts are merged when they are loaded,
    and a tied head that is stored separately has to be compared with the embedding."""
    if any(".experts." in name for name in found):
        return False
    if not named_in_files:
        return not any(folder.glob("pytorch_model*.bin"))
    return not (tied and any(name.partition(".")[0] in HEADS for name in found))


def read_limited(file: Path, most: int) -> bytes:
    with file.open("rb") as opened:
        found = opened.read(most + 1)
    if len(found) > most:
        raise ValueError(f"{file.name} is longer than {most} bytes")
    return found


def _names(config: dict[str, Any]) -> dict[str, Any]:
    architectures = config.get("architectures") or [""]
    named = {"architecture": str(architectures[0]), "model_type": str(config.get("model_type", ""))}
    return {**named, **_attention(_text(config))}


def _attention(text: dict[str, Any]) -> dict[str, Any]:
    """All layers are taken to have the window where the configuration does not say which."""
    window = text.get("sliding_window") if text.get("use_sliding_window", True) else None
    kinds = text.get("layer_types")
    everywhere = text.get("num_hidden_layers", text.get("n_layer", 0))
    return {
        "caps_logits": bool(text.get("final_logit_softcapping")),
        "caps_scores": bool(text.get("attn_logit_softcapping")),
        "window": _count(window) if window else 0,
        "windowed_layers": _windowed(kinds, everywhere) if window else 0,
    }


def _windowed(kinds: Any, everywhere: Any) -> int:
    return kinds.count("sliding_attention") if isinstance(kinds, list) else _count(everywhere)


def _text(config: dict[str, Any]) -> dict[str, Any]:
    """A multimodal model has the configuration of its language model in a section."""
    text: dict[str, Any] = config.get("text_config") or config
    return text


def _tied(config: dict[str, Any]) -> bool | None:
    value = config.get("tie_word_embeddings", _text(config).get("tie_word_embeddings"))
    return None if value is None else bool(value)


def _sizes(config: dict[str, Any]) -> dict[str, Any]:
    """GPT-2 and similar models use other names."""
    text = _text(config)

    def one_of(*names: str, default: int | None = None) -> int:
        for name in names:
            if text.get(name) is not None:
                return _count(text[name])
        if default is None:
            raise KeyError(names[0])
        return default

    hidden, heads = one_of("hidden_size", "n_embd", "d_model"), one_of("num_attention_heads", "n_head", "num_heads")
    return {
        "hidden": hidden,
        "layers": min(one_of("num_hidden_layers", "n_layer", "num_layers"), MOST_LAYERS),
        "heads": heads,
        "kv_heads": one_of("num_key_value_heads", default=heads),
        "head_size": one_of("head_dim", default=hidden // heads),
        **_latent_attention(text),
        "intermediate": one_of("intermediate_size", "n_inner", "ffn_dim", default=4 * hidden),
        "vocabulary": one_of("vocab_size"),
        "positions": one_of("max_position_embeddings", "n_positions", default=0),
        **_experts(text),
    }


def _latent_attention(text: dict[str, Any]) -> dict[str, int]:
    """Sizes of multi-head latent attention (DeepSeek-V2, arXiv 2405.04434), whose `head_dim` means something else. The
    cache has what keys and values are computed from, and the rotated part of the keys, which all heads share."""
    if not text.get("kv_lora_rank"):
        return {}
    plain, rotated = _count(text["qk_nope_head_dim"]), _count(text["qk_rope_head_dim"])
    return {"head_size": plain + rotated, "latent": _count(text["kv_lora_rank"]) + rotated}


def _experts(text: dict[str, Any]) -> dict[str, int]:
    """By the names of Qwen, Mixtral and DeepSeek; 0 without. Experts without a size of their own have that of a
    feed-forward."""

    def one_of(*names: str) -> int:
        return next((int(text[name]) for name in names if _is_count(text.get(name))), 0)

    return {
        "experts": one_of("num_experts", "num_local_experts", "n_routed_experts"),
        "experts_per_token": one_of("num_experts_per_tok", "experts_per_token"),
        "expert_intermediate": one_of("moe_intermediate_size", "intermediate_size"),
    }


def _count(value: Any) -> int:
    if not _is_count(value):
        raise ValueError("a size is a positive whole number")
    return int(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and 0 < value < 2**40


def tensor_sizes(file: Path) -> Iterator[tuple[str, Sizes]]:
    """Names and sizes from a safetensors header: eight bytes of length, then JSON."""
    with file.open("rb") as opened:
        (length,) = struct.unpack("<Q", opened.read(8))
        if length > MAX_HEADER_BYTES:
            raise ValueError("the header is too long")
        header = json.loads(opened.read(length))
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in FLOATS:
            raise ValueError("weights that are not floating-point are packed, and their number is unknown")
        yield name, tuple(int(size) for size in entry["shape"])
