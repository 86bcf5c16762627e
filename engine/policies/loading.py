"""Loads a Hugging Face causal language model and its tokenizer, with errors that name the cause and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from engine.errors import ModelError
from engine.policies.attention import use_own_attention
from engine.policies.attention_masks import attention_kinds
from engine.policies.linear_scores import LogitScale
from engine.policies.model_config import model_config
from engine.policies.model_paths import check_model_path, model_revision, model_source

DECODERS = "Use a decoder such as Qwen, Llama, Gemma or Mistral."
LanguageModel = Any  # transformers' models have no useful types


def load_model(path: str, *, device: str = "cpu", chat_template: str = "") -> tuple[LanguageModel, Any]:
    """The model, in evaluation mode, and its tokenizer. Never runs code from a model's repository."""
    from transformers import AutoModelForCausalLM

    from engine.policies.agreement import check_decoding

    tokenizer = load_tokenizer(path, chat_template=chat_template)
    with _loading(path):
        config = model_config(path)
        require_fused_attention(config)
        model = AutoModelForCausalLM.from_pretrained(
            model_source(path),
            revision=model_revision(path),
            config=config,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            attn_implementation="sdpa",
        )
    check_architecture(model)
    model = model.to(device).eval()
    check_decoding(model)
    return model, tokenizer


def require_fused_attention(config: Any) -> None:
    """`ModelError` for a model that transformers computes with its own attention only (gpt-oss, BLOOM, GPT-J)."""
    from transformers import AutoModelForCausalLM

    owner = AutoModelForCausalLM._model_mapping.get(type(config), None)
    if owner is not None and not owner._supports_sdpa:
        raise ModelError(
            f"{owner.__name__} has no attention through PyTorch's scaled_dot_product_attention in transformers, which "
            "sampling and training use.",
            remedy=DECODERS,
        )


def check_architecture(model: LanguageModel) -> None:
    """Sees to it that the model computes here what it computes elsewhere; `ModelError` if it cannot."""
    if model.base_model is model:
        raise ModelError(
            f"{type(model).__name__} does not separate its body from its head, which sampling and training need.",
            remedy="Use a model with another architecture.",
        )
    attention_kinds(model.config)
    if getattr(model.config.get_text_config(), "attn_logit_softcapping", None):
        use_own_attention(model)


def load_tokenizer(path: str, *, chat_template: str = "") -> Any:
    """The tokenizer, with `chat_template` instead of its own if one is given."""
    from transformers import AutoTokenizer

    check_model_path(path)
    with _loading(path):
        tokenizer = AutoTokenizer.from_pretrained(
            model_source(path), revision=model_revision(path), trust_remote_code=False
        )
    if chat_template:
        tokenizer.chat_template = chat_template
    if getattr(tokenizer, "chat_template", None) is None:
        raise ModelError(f"{path!r} has no chat template.", remedy="Use an instruct model, or set model.chat_template.")
    return tokenizer


@contextmanager
def _loading(path: str) -> Iterator[None]:
    from transformers.utils import logging

    logging.disable_progress_bar()  # now and when it is saved: the bars would fill the run's log
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(
            f"{path!r} could not be loaded as a language model: {first_line(error)}",
            remedy="Give the name of a bundled model, a directory with config.json, safetensors weights and a "
            "tokenizer, or a hub id that, at its model.revision, is in the local Hugging Face cache or can be "
            "downloaded.",
        ) from error


def first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:400]


def run_body(body: LanguageModel, **inputs: Any) -> Any:
    """A forward pass of the model without its head, in the precision set by `compute_in`."""
    kind = getattr(body, "computes_in", torch.float32)
    if kind == torch.float32:
        return body(**inputs)
    # each weight is used once, so caching the casts would save nothing and hold all of them at once
    with torch.autocast(next(body.parameters()).device.type, dtype=kind, cache_enabled=False):
        return body(**inputs)


def compute_in(
    model: LanguageModel,
    precision: Literal["auto", "float32", "bfloat16"],
    *,
    float32: Literal["highest", "high", "medium"] = "highest",
) -> torch.dtype:
    """Sets the precision of matrix products in the model's body: `auto` is bfloat16 on a GPU that supports it, else
    float32; and on a GPU that of float32 products in this process (`torch.set_float32_matmul_precision`).

    Weights, gradients and optimiser state stay in float32, and so does the head, since log-probabilities over a large
    vocabulary need the precision. The sampler and the learner use the same setting, so that they agree.
    """
    if device_of(model).type == "cuda":
        torch.set_float32_matmul_precision(float32)
    supported = device_of(model).type == "cuda" and torch.cuda.is_bf16_supported()
    chosen = torch.bfloat16 if precision == "bfloat16" or (precision == "auto" and supported) else torch.float32
    model.base_model.computes_in = chosen
    return chosen


def device_of(model: LanguageModel) -> torch.device:
    """The device of its weights; for a model on the meta device, the one they will be loaded to."""
    source = getattr(model.base_model, "weight_source", None)
    found: torch.device = model.device if source is None else source.device
    return found


def logits_of(model: LanguageModel, hidden: Tensor) -> Tensor:
    """Logits (..., V) of final hidden states (..., D)."""
    return scaled_logits(model, model.get_output_embeddings()(hidden.float()))


def scaled_logits(model: LanguageModel, logits: Tensor) -> Tensor:
    """A head's result with the scaling that some architectures add."""
    scale = logit_scale(model)
    logits = logits if scale.multiplier == 1 else logits * scale.multiplier
    return logits if scale.cap is None else torch.tanh(logits / scale.cap) * scale.cap


def logit_scale(model: LanguageModel, *, temperature: float = 1.0) -> LogitScale:
    config = model.config
    multiplier = (getattr(config, "logit_scale", None) or 1.0) / (getattr(config, "logits_scaling", None) or 1.0)
    return LogitScale(multiplier, getattr(config, "final_logit_softcapping", None), temperature)


def stop_token_ids(model: LanguageModel) -> set[int]:
    """The end-of-sequence tokens in the model's generation config, in addition to those of tokenizer and template."""
    return _eos_ids(model.generation_config)


def stop_token_ids_of(path: str) -> set[int]:
    """`stop_token_ids` of a model that is not loaded."""
    from transformers import AutoConfig, GenerationConfig

    source, revision = model_source(path), model_revision(path)
    try:
        return _eos_ids(GenerationConfig.from_pretrained(source, revision=revision))
    except OSError:  # a model without generation_config.json
        return _eos_ids(AutoConfig.from_pretrained(source, revision=revision, trust_remote_code=False))


def _eos_ids(config: Any) -> set[int]:
    own = config.eos_token_id
    return {own} if isinstance(own, int) else set(own or ())


def without_dropout(model: LanguageModel) -> None:
    """Disables dropout for training: it would add noise to the ratio to the sampling policy, which has no dropout, and
    a resumed run would differ."""
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
        for name, value in vars(module).items():
            if "drop" in name and isinstance(value, float):
                setattr(module, name, 0.0)


def context_limit(model: LanguageModel, requested: int) -> int:
    """`requested` tokens, or the model's maximum position embeddings if that is less."""
    return context_limit_of(model.config, requested)


def context_limit_of(config: Any, requested: int) -> int:
    return min(requested, getattr(config, "max_position_embeddings", None) or requested)
