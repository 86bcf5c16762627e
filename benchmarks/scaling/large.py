"""The predicted sizes: those of Qwen2.5, from the published config.json of each."""

from __future__ import annotations

from typing import Any

from benchmarks.gpu.models import QWEN25_HALF_BILLION

COMMON: dict[str, Any] = {"max_position_embeddings": 32768}
LARGE: dict[str, dict[str, Any]] = {
    "0.5B": QWEN25_HALF_BILLION,
    "7B": {
        "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
        "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False, **COMMON,
    },
    "72B": {
        "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_key_value_heads": 8, "vocab_size": 152064, "tie_word_embeddings": False, **COMMON,
    },
}  # fmt: skip
