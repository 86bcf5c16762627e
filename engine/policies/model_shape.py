"""What a model is made of, read off its files alone: sizes from config.json, weights from the safetensors' headers.

Torch-free and without transformers, so that a form can ask before anything is loaded.
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
from engine.policies.model_paths import local_folder

Sizes = tuple[int, ...]
FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
LARGEST_CONFIG = 1024**2  # bytes
LARGEST_HEADER = 64 * 1024**2
FILE_BYTES = 4 * 1024**3  # of one file that several learners write, and so of what is held while they do
MOST_LAYERS = 10_000
HUB_ID = r"[\w.-]{1,96}(/[\w.-]{1,96})?"
HEADS = frozenset({"lm_head", "embed_out"})
EMBEDDING = re.compile(r"(^|\.)(embed_tokens|wte|word_embeddings|embed_in|tok_embeddings)\.weight$")
LAYER = re.compile(r"(^|\.)(layers|h|blocks)\.(\d+)\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """A decoder. `weights` are the sizes of each by its name; a head that is the embedding is not among them."""

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
    positions: int  # tokens that it has positions for; 0 where it does not say
    weights: Mapping[str, Sizes]
    in_parts: bool = True  # whether each of several learners can read its own part of the files, as far as they tell

    @property
    def parameters(self) -> int:
        return sum(prod(sizes) for sizes in self.weights.values())

    @property
    def body(self) -> dict[str, Sizes]:
        """All weights but those of the head."""
        return {name: sizes for name, sizes in self.weights.items() if name.partition(".")[0] not in HEADS}

    @property
    def embedding(self) -> dict[str, Sizes]:
        return {name: sizes for name, sizes in self.weights.items() if EMBEDDING.search(name)}

    @property
    def matrices(self) -> dict[str, Sizes]:
        """The linear layers between embedding and head."""
        return {name: sizes for name, sizes in self.body.items() if len(sizes) == 2 and LAYER.search(name)}

    @property
    def largest_layer(self) -> int:
        """Parameters of the largest of its layers."""
        found: dict[str, int] = {}
        for name, sizes in self.weights.items():
            if place := LAYER.search(name):
                found[place[3]] = found.get(place[3], 0) + prod(sizes)
        return max(found.values(), default=0)


def model_shape(path: str) -> ModelShape:
    """Of `path` as `load_model` takes it, which for a hub id means the local cache alone.

    `ModelError` where no configuration is on this machine, or one that tells no sizes of a decoder.
    """
    folder = folder_of(path)
    if folder is None:
        raise ModelError(
            f"{path!r} is not on this machine yet, so its shape is not known.",
            remedy="Give a directory, or download the model into the local Hugging Face cache.",
        )
    try:
        return _read(folder, tuple(_stamp(file) for file in (folder / "config.json", *_weights(folder))))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise ModelError(
            f"The files in {folder} tell no shape of a language model.",
            remedy="Give a directory with the config.json and the safetensors of a decoder.",
        ) from error


def folder_of(path: str) -> Path | None:
    """Where config.json lies, if it is on this machine."""
    if (folder := local_folder(path)) is not None:
        return folder
    if path.startswith((".", "/", "~")) or not re.fullmatch(HUB_ID, path):
        return None
    from huggingface_hub import try_to_load_from_cache

    try:
        found = try_to_load_from_cache(path, "config.json")
    except ValueError:  # no name that a hub could have
        return None
    return Path(found).parent if isinstance(found, str) else None


def _weights(folder: Path) -> list[Path]:
    """The files that hold the model, all of them or none."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        parts = {
            folder / Path(part).name for part in json.loads(_start_of(index, LARGEST_HEADER))["weight_map"].values()
        }
        return sorted(parts) if all(part.is_file() for part in parts) else []
    whole = folder / "model.safetensors"
    return [whole] if whole.is_file() else []


def _stamp(file: Path) -> tuple[str, int, int]:
    """Tells a file from what it was before; the clock of files alone may stand still between two writes."""
    status = file.stat()
    return file.name, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _read(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> ModelShape:
    told = json.loads(_start_of(folder / "config.json", LARGEST_CONFIG))
    found = {name: sizes for file in _weights(folder) for name, sizes in _header(file)}
    sizes, tied = _sizes(told), _tied(told)
    in_parts = _can_be_read_in_parts(folder, found, tied=bool(tied))
    if not found:
        found = dict(gated_decoder(sizes, tied=bool(tied), biased=told.get("model_type") == "qwen2"))
    head = {name for name in found if name.partition(".")[0] in HEADS}
    tied = not head if tied is None else tied
    weights = {name: size for name, size in found.items() if not (tied and name in head)}
    return ModelShape(**sizes, **_names(told), tied=tied, weights=weights, in_parts=in_parts)


def _can_be_read_in_parts(folder: Path, found: Mapping[str, Sizes], *, tied: bool) -> bool:
    """Files that are not here yet are taken to be safetensors. Experts are put together as they are loaded, and a head
    that is stored beside its twin has to be compared with it."""
    if not found:
        return not any(folder.glob("pytorch_model*.bin"))
    return not any(".experts." in name or (tied and name.partition(".")[0] in HEADS) for name in found)


def _start_of(file: Path, most: int) -> bytes:
    with file.open("rb") as opened:
        found = opened.read(most + 1)
    if len(found) > most:
        raise ValueError(f"{file.name} is longer than {most} bytes")
    return found


def _names(told: dict[str, Any]) -> dict[str, Any]:
    architectures = told.get("architectures") or [""]
    return {"architecture": str(architectures[0]), "model_type": str(told.get("model_type", ""))}


def _text(told: dict[str, Any]) -> dict[str, Any]:
    """A model of pictures and text tells of its text in a part of its own."""
    text: dict[str, Any] = told.get("text_config") or told
    return text


def _tied(told: dict[str, Any]) -> bool | None:
    value = told.get("tie_word_embeddings", _text(told).get("tie_word_embeddings"))
    return None if value is None else bool(value)


def _sizes(told: dict[str, Any]) -> dict[str, Any]:
    """GPT-2 and its like have other names for the same."""
    text = _text(told)

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
        "intermediate": one_of("intermediate_size", "n_inner", "ffn_dim", default=4 * hidden),
        "vocabulary": one_of("vocab_size"),
        "positions": one_of("max_position_embeddings", "n_positions", default=0),
    }


def _count(value: Any) -> int:
    if not isinstance(value, int) or not 0 < value < 2**40:
        raise ValueError("a size is a positive whole number")
    return value


def _header(file: Path) -> Iterator[tuple[str, Sizes]]:
    """Names and sizes of a safetensors file: eight bytes with the length of the JSON that follows them."""
    with file.open("rb") as opened:
        (length,) = struct.unpack("<Q", opened.read(8))
        if length > LARGEST_HEADER:
            raise ValueError("the header is too long")
        header = json.loads(opened.read(length))
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in FLOATS:
            raise ValueError("weights that are no floating-point numbers are packed, and say nothing of their number")
        yield name, tuple(int(size) for size in entry["shape"])


def gated_decoder(shape: Mapping[str, int], *, tied: bool, biased: bool = False) -> Iterator[tuple[str, Sizes]]:
    """Weights of a decoder with a gated feed-forward, as Llama, Mistral and Qwen2 have them (`biased`: Qwen2's).

    For a model whose weights are not here, or not as safetensors.
    """
    wide, inner = shape["hidden"], shape["intermediate"]
    queries, keys = shape["heads"] * shape["head_size"], shape["kv_heads"] * shape["head_size"]
    yield "model.embed_tokens.weight", (shape["vocabulary"], wide)
    for layer in range(shape["layers"]):
        before = f"model.layers.{layer}"
        for name, out in (("q", queries), ("k", keys), ("v", keys)):
            yield f"{before}.self_attn.{name}_proj.weight", (out, wide)
            if biased:
                yield f"{before}.self_attn.{name}_proj.bias", (out,)
        yield f"{before}.self_attn.o_proj.weight", (wide, queries)
        yield f"{before}.mlp.gate_proj.weight", (inner, wide)
        yield f"{before}.mlp.up_proj.weight", (inner, wide)
        yield f"{before}.mlp.down_proj.weight", (wide, inner)
        yield f"{before}.input_layernorm.weight", (wide,)
        yield f"{before}.post_attention_layernorm.weight", (wide,)
    yield "model.norm.weight", (wide,)
    if not tied:
        yield "lm_head.weight", (shape["vocabulary"], wide)
