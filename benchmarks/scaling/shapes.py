"""The models that are measured: the one that ships, and random ones in its words and in more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.gpu.models import save_random_model
from benchmarks.operations import qwen2
from engine.policies.loading import load_tokenizer
from engine.policies.model_shape import ModelShape, model_shape

COMMON: dict[str, Any] = {"max_position_embeddings": 2048, "tie_word_embeddings": True}
RANDOM: dict[str, dict[str, Any]] = {
    "2 million": {
        "hidden_size": 192, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 6,
        "num_key_value_heads": 2, "vocab_size": 1024, **COMMON,
    },
    "9 million": {
        "hidden_size": 320, "intermediate_size": 1024, "num_hidden_layers": 7, "num_attention_heads": 5,
        "num_key_value_heads": 1, "vocab_size": 1024, **COMMON,
    },
    "many words": {
        "hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 16384, **COMMON,
    },
}  # fmt: skip


def shape_of(name: str) -> ModelShape:
    return model_shape("tiny") if name == "tiny" else qwen2(RANDOM[name])


def model_at(name: str, folder: Path) -> str:
    """A path that a run takes; random models speak with the small model's words, and know more of them."""
    if name == "tiny":
        return name
    directory = folder / name.replace(" ", "_")
    if not directory.exists():
        save_random_model(RANDOM[name], directory)
        load_tokenizer("tiny").save_pretrained(directory)
    return str(directory)
