"""Loads a Hugging Face causal language model and its tokenizer, with errors that name the cause and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.errors import ModelError

TINY = Path(__file__).parent.parent / "models" / "tiny" / "weights"
LanguageModel = Any  # transformers' models carry no useful types


def model_source(path: str) -> str:
    """A directory or hub id; `tiny` is the model that ships."""
    return str(TINY) if path == "tiny" else path


def load_model(path: str, *, device: str = "cpu") -> tuple[LanguageModel, Any]:
    """Model in evaluation mode and tokenizer. Never runs code that comes with a model."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = model_source(path)
    _check_directory(source)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(
            source, trust_remote_code=False, dtype=torch.float32, attn_implementation="sdpa"
        )
    except Exception as error:
        raise ModelError(
            f"{path!r} could not be loaded as a language model: {_first_line(error)}",
            remedy="Give `tiny`, a directory with config.json, safetensors weights and a tokenizer, or a model's id "
            "that is in the local Hugging Face cache or can be downloaded.",
        ) from error
    if getattr(tokenizer, "chat_template", None) is None:
        raise ModelError(f"{path!r} has no chat template.", remedy="Use an instruct model, or add chat_template.jinja.")
    return model.to(device).eval(), tokenizer


def _check_directory(source: str) -> None:
    looks_local = source.startswith((".", "/", "~")) or Path(source).exists()
    if looks_local and not (Path(source).expanduser() / "config.json").is_file():
        what = "is not a model directory: it has no config.json" if Path(source).exists() else "does not exist"
        raise ModelError(
            f"The model directory {source} {what}.", remedy="Give the directory that holds config.json and the weights."
        )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:400]


def logits_of(model: LanguageModel, hidden: Tensor) -> Tensor:
    """Logits (..., V) of final hidden states (..., D), with the scaling that some architectures add."""
    logits: Tensor = model.get_output_embeddings()(hidden)
    config = model.config
    if divisor := getattr(config, "logits_scaling", None):
        logits = logits / divisor
    if factor := getattr(config, "logit_scale", None):
        logits = logits * factor
    if cap := getattr(config, "final_logit_softcapping", None):
        logits = torch.tanh(logits / cap) * cap
    return logits


def stop_ids(model: LanguageModel, tokenizer: Any) -> set[int]:
    """Tokens that end a reply: the tokenizer's end of turn and the model's own."""
    own = model.generation_config.eos_token_id
    return {tokenizer.eos_token_id, *([own] if isinstance(own, int) else own or [])}
