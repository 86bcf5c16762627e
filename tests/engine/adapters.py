"""A LoRA adapter of the small model, as peft writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from engine.config import LoraSection, ModelConfig, RunConfig
from engine.policies.adapter import adapted, add_adapter, save_adapter
from tests.engine.models import small_model
from tests.engine.training.test_runs import run_config

LORA = LoraSection(rank=4, alpha=8.0)


def save_small_adapter(directory: Path) -> Path:
    """Of all layers, with an update that is not 0."""
    model = small_model()
    add_adapter(model, LORA)
    for layer in adapted(model).values():
        torch.nn.init.normal_(layer.lora_B["default"].weight, std=0.1)
    save_adapter(model, LORA, directory, base=ModelConfig(path="lab/base"))
    return directory


def configured(base: Path, adapter: Path | str, *, rank: int = 4, **changes: Any) -> RunConfig:
    """A run that trains the adapter further, or merges it with rank 0."""
    lora = {"rank": rank, "alpha": 8.0}
    return run_config(base, model={"path": str(base), "adapter": str(adapter), "lora": lora}, **changes)
