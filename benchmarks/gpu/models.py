"""Models with random weights, in the shape of a common one: what is measured does not depend on the weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

# https://huggingface.co/Qwen/Qwen2.5-0.5B/blob/main/config.json
QWEN25_HALF_BILLION: dict[str, Any] = {
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "tie_word_embeddings": True,
}
# https://huggingface.co/Qwen/Qwen2.5-3B/blob/main/config.json
QWEN25_THREE_BILLION: dict[str, Any] = {
    **QWEN25_HALF_BILLION,
    "hidden_size": 2048,
    "intermediate_size": 11008,
    "num_hidden_layers": 36,
    "num_attention_heads": 16,
}
# https://huggingface.co/Qwen/Qwen2.5-7B/blob/main/config.json
QWEN25_SEVEN_BILLION: dict[str, Any] = {
    **QWEN25_HALF_BILLION,
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "tie_word_embeddings": False,
}
SIZES = {"0.5B": QWEN25_HALF_BILLION, "3B": QWEN25_THREE_BILLION}
SMALL: dict[str, Any] = {
    "hidden_size": 128,
    "intermediate_size": 384,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1024,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}


def random_model(shape: dict[str, Any]) -> Any:
    """A Qwen2 in float32, on a GPU if there is one."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(1)
    config = Qwen2Config(**shape, bos_token_id=None, eos_token_id=2, pad_token_id=0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.device(device):
        model = Qwen2ForCausalLM._from_config(config, attn_implementation="sdpa", dtype=torch.float32)
    return model.eval()


def save_random_model(shape: dict[str, Any], folder: Path) -> str:
    """The same as a directory, without a tokenizer."""
    random_model(shape).cpu().save_pretrained(folder)
    return str(folder)


def device_name() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
