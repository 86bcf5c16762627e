"""The predicted sizes: those of Qwen2.5, from the published config.json of each."""

from __future__ import annotations

from typing import Any

from benchmarks.gpu.models import QWEN25_HALF_BILLION, QWEN25_SEVEN_BILLION

LARGE: dict[str, dict[str, Any]] = {
    "0.5B": QWEN25_HALF_BILLION,
    "7B": QWEN25_SEVEN_BILLION,
    "72B": {
        **QWEN25_SEVEN_BILLION, "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
        "num_attention_heads": 64, "num_key_value_heads": 8,
    },
}  # fmt: skip
