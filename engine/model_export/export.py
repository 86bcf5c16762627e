"""Writes a checkpoint's model as a plain Hugging Face directory, whole or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from engine.errors import CheckpointError, ConfigError

Precision = Literal["float32", "bfloat16", "float16"]
SUFFIX = ".safetensors"


def export_model(model: Path, out: Path, *, card: str, precision: Precision | None = None) -> None:
    """Copies the files of `model` to `out` with `card` as its README.md. Weights are stored in `precision`, or as they
    are. `ConfigError` if `out` is not empty."""
    with _new(out) as part:
        try:
            for file in sorted(model.iterdir()):
                shutil.copyfile(file, part / file.name)
        except OSError as error:
            raise CheckpointError(
                f"{model} could not be copied: {error}.",
                remedy="Check disk space. A run that trains may have removed the checkpoint: export again.",
            ) from error
        if precision is not None:
            _convert(part, precision)
        (part / "README.md").write_text(card, encoding="utf-8")


@contextmanager
def _new(out: Path) -> Iterator[Path]:
    """A temporary folder next to `out`, which becomes it when it is complete."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} exists and is not an empty directory.", remedy="Give a new directory.")
    part = out.with_name(f".{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        part.replace(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _convert(folder: Path, precision: Precision) -> None:
    """Stores floating-point tensors in `precision`, and says so in config.json."""
    kind: torch.dtype = getattr(torch, precision)
    for file in folder.glob(f"*{SUFFIX}"):
        with safe_open(file, framework="pt") as opened:
            names = list(opened.keys())
            tensors = {name: opened.get_tensor(name) for name in names}
        stored = {name: value.to(kind) if value.is_floating_point() else value for name, value in tensors.items()}
        save_file(stored, file, metadata={"format": "pt"})
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config.pop("torch_dtype", None)  # the name of `dtype` before transformers 4.56
    path.write_text(json.dumps({**config, "dtype": precision}, indent=2) + "\n", encoding="utf-8")
