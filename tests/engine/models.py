"""A real Qwen2 model, untrained and very small, for tests that need a model but not a good one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from engine.models.tiny.build import learn_tokenizer


@lru_cache(maxsize=1)
def words() -> Any:
    return learn_tokenizer(seed=5, episodes=200)  # which take a second, and 2,000 ten of each test process


def small_model(
    seed: int = 0, *, width: int = 32, inner: int = 0, layers: int = 2, tied: bool = False
) -> Qwen2ForCausalLM:
    """`inner` is the width of the feed-forward, by default twice that of the model."""
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(words()),
        hidden_size=width,
        intermediate_size=inner or 2 * width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
        tie_word_embeddings=tied,
        eos_token_id=words().eos_token_id,
        pad_token_id=words().pad_token_id,
        bos_token_id=None,
    )
    return Qwen2ForCausalLM(config).eval()


def save_small_model(directory: Path, seed: int = 0) -> Path:
    """A model directory like a user's."""
    small_model(seed).save_pretrained(directory)
    words().save_pretrained(directory)
    return directory
