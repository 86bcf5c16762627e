"""Tensors in safetensors files, one at a time: read by rows and written as they are produced, so that no process needs
the whole model to load a shard of it or to save it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from engine.policies.model_shape import FILE_BYTES

SUFFIX = ".safetensors"


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor in a file. `stored[rows]` reads rows of its first axis, and `stored[:]` all."""

    file: Path
    name: str
    shape: torch.Size

    def __getitem__(self, rows: slice) -> Tensor:
        """A view of the memory-mapped file, loaded as it is read; copy what is to be kept."""
        with safe_open(self.file, framework="pt") as opened:
            found: Tensor = opened.get_slice(self.name)[rows] if self.shape else opened.get_tensor(self.name)
        return found


def stored_tensors(files: Iterable[Path]) -> dict[str, StoredTensor]:
    """All tensors of `files` by name. Only headers are read."""
    found: dict[str, StoredTensor] = {}
    for file in files:
        with safe_open(file, framework="pt") as opened:
            for name in opened.keys():  # noqa: SIM118 - it is not a mapping
                found[name] = StoredTensor(file, name, torch.Size(opened.get_slice(name).get_shape()))
    return found


def write_tensors(folder: Path, stem: str, tensors: Iterable[tuple[str, Tensor]], *, most: int = FILE_BYTES) -> None:
    """Writes files of about `most` bytes to `folder`, named like Hugging Face's: one `stem.safetensors`, or numbered
    parts and an index."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[list[str]] = []
    for part in _parts(tensors, most):
        save_file(part, folder / f"{stem}-{len(parts) + 1:05d}{SUFFIX}", metadata={"format": "pt"})
        parts.append(list(part))
    if len(parts) == 1:
        (folder / f"{stem}-00001{SUFFIX}").rename(folder / f"{stem}{SUFFIX}")
    if len(parts) < 2:
        return
    weight_map: dict[str, str] = {}
    for number, names in enumerate(parts, start=1):
        name = f"{stem}-{number:05d}-of-{len(parts):05d}{SUFFIX}"
        (folder / f"{stem}-{number:05d}{SUFFIX}").rename(folder / name)
        weight_map |= dict.fromkeys(names, name)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / f"{stem}{SUFFIX}.index.json").write_text(json.dumps(index, indent=1))


def _parts(tensors: Iterable[tuple[str, Tensor]], most: int) -> Iterator[dict[str, Tensor]]:
    part: dict[str, Tensor] = {}
    size = 0
    for name, tensor in tensors:
        part[name] = tensor.detach().cpu().contiguous()
        size += tensor.nbytes
        if size >= most:
            yield part
            part, size = {}, 0
    if part:
        yield part


def written_files(folder: Path, stem: str) -> list[Path]:
    """The files that `write_tensors` wrote there."""
    return sorted([*folder.glob(f"{stem}{SUFFIX}"), *folder.glob(f"{stem}-*-of-*{SUFFIX}")])
