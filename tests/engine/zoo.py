"""Language models of many architectures: transformers' own classes at tiny sizes, with random weights."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
import transformers

from tests.engine.chat_templates import tokenizer_of

SIZES: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256,
}  # fmt: skip
ONE_OF_EACH = ["sliding_attention", "full_attention"]
ZOO: dict[str, tuple[str, dict[str, Any]]] = {
    "Qwen2": ("Qwen2", {**SIZES, "tie_word_embeddings": True}),
    "Qwen2, a window in its later layer": (
        "Qwen2", {**SIZES, "use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1},
    ),
    "Qwen3": ("Qwen3", {**SIZES, "head_dim": 8}),
    "Llama 3": ("Llama", SIZES),
    "SmolLM2": ("Llama", {**SIZES, "tie_word_embeddings": True}),
    "DeepSeek-R1-Distill": ("Qwen2", SIZES),
    "Gemma 2": ("Gemma2", {**SIZES, "head_dim": 8, "sliding_window": 16, "attn_logit_softcapping": 1.0}),
    "Gemma 3": ("Gemma3Text", {**SIZES, "head_dim": 8, "sliding_window": 16, "layer_types": ONE_OF_EACH}),
    "Mistral": ("Mistral", {**SIZES, "sliding_window": 16}),
    "Phi 3": ("Phi3", {**SIZES, "sliding_window": 16}),
    "GPT-2": ("GPT2", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}),
    "Mixture of experts": ("Qwen3Moe", {
        **SIZES, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
    }),
    "DeepSeek V3": ("DeepseekV3", {  # compressed keys and values, and a shared expert beside the others
        **SIZES, "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
        "topk_group": 1, "first_k_dense_replace": 1, "moe_intermediate_size": 16,
    }),
}  # fmt: skip
FAMILIES = {  # of chat templates, where the name of the model is not that of one
    "Qwen2": "Qwen2.5",
    "Qwen2, a window in its later layer": "Qwen2.5",
    "Mistral": "Mistral v0.1",
    "GPT-2": "Qwen2.5",  # given to it: it has none
    "Mixture of experts": "Qwen3",
    "DeepSeek V3": "Qwen2.5",
}
CLASSES = {"Gemma3Text": "Gemma3ForCausalLM", "GPT2": "GPT2LMHeadModel"}


@lru_cache
def config_of(name: str, head_size: int = 8) -> Any:
    """With 4 attention heads of `head_size`."""
    kind, settings = ZOO[name]
    if head_size != 8:
        settings = {**settings, "hidden_size": 4 * head_size, "head_dim": head_size}
    words = tokenizer_of("Qwen2.5")
    tokens = {"eos_token_id": words.eos_token_id, "pad_token_id": words.pad_token_id, "bos_token_id": None}
    return getattr(transformers, f"{kind}Config")(**{**tokens, **settings, "vocab_size": len(words)})


def save_zoo_model(directory: Path, name: str, *, head_size: int = 8) -> Path:
    """A model directory with the chat template of its family. vLLM needs heads of 32."""
    zoo_model(name, head_size=head_size).save_pretrained(directory)
    tokenizer_of(FAMILIES.get(name, name)).save_pretrained(directory)
    return directory


def zoo_model(name: str, *, attention: str = "sdpa", head_size: int = 8) -> Any:
    """Far from uniform predictions, so that mistakes show."""
    kind, _ = ZOO[name]
    torch.manual_seed(0)
    owner = getattr(transformers, CLASSES.get(kind, f"{kind}ForCausalLM"))
    model = owner._from_config(deepcopy(config_of(name, head_size)), attn_implementation=attention).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    return model
