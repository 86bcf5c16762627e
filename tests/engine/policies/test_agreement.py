"""Models that would compute something else here than in transformers are refused before anything is sampled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from engine.errors import ModelError
from engine.policies.agreement import check_decoding, check_packs
from engine.policies.loading import compute_in, load_model
from engine.policies.packing import allow_packing
from tests.engine.chat_templates import tokenizer_of
from tests.engine.zoo import ZOO, zoo_model

SIZES: dict[str, Any] = {
    "vocab_size": 60, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
FEW_HEADS = {**SIZES, "num_key_value_heads": 2}
OF_BART = {"vocab_size": 60, "d_model": 32, "decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 48}


def made(kind: str, sizes: dict[str, Any]) -> Any:
    """Far from uniform predictions, so that mistakes show."""
    torch.manual_seed(0)
    owner = getattr(transformers, kind)
    model = owner._from_config(owner.config_class(**sizes), attn_implementation="sdpa")
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    return model.eval()


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_each_model_of_the_zoo_agrees(name: str, precision: Any) -> None:
    model = zoo_model(name)
    check_decoding(model)
    compute_in(model, precision)
    allow_packing(model)
    check_packs(model)


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("BartForCausalLM", OF_BART),  # counts positions by itself
        ("BertLMHeadModel", SIZES),  # reads what follows
        ("ModernBertDecoderForCausalLM", {**SIZES, "cls_token_id": 1, "sep_token_id": 2}),
    ],
)
def test_a_model_whose_sampled_tokens_have_other_probabilities_is_refused(kind: str, sizes: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=rf"{kind} cannot be sampled from here: .* differ by up to .* nats"):
        check_decoding(made(kind, sizes))


def test_a_model_without_fused_attention_is_refused_before_its_weights_are_read(tmp_path: Path) -> None:
    transformers.GptOssConfig(num_hidden_layers=2).save_pretrained(tmp_path)
    tokenizer_of("Qwen2.5").save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="GptOssForCausalLM has no attention through PyTorch's scaled_dot_product"):
        load_model(str(tmp_path))


def test_a_model_that_cannot_be_sampled_from_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    made("BartForCausalLM", {**OF_BART, "max_position_embeddings": 64}).save_pretrained(tmp_path)
    tokenizer_of("Qwen2.5").save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="BartForCausalLM cannot be sampled from here"):
        load_model(str(tmp_path))


def test_a_model_that_fails_with_our_cache_is_refused_with_its_error() -> None:
    model = zoo_model("Llama 3")
    model.base_model.register_forward_pre_hook(needs_its_own_cache, with_kwargs=True)
    with pytest.raises(ModelError, match=r"LlamaForCausalLM cannot be sampled from here: AttributeError: .*is_init"):
        check_decoding(model)


def needs_its_own_cache(module: Any, args: Any, kwargs: dict[str, Any]) -> None:
    if cache := kwargs.get("past_key_values"):
        assert cache.is_initialized_by_the_model


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [("FalconForCausalLM", SIZES), ("NemotronForCausalLM", FEW_HEADS)],
)
def test_a_model_that_mixes_the_sequences_of_a_pack_is_refused(kind: str, sizes: dict[str, Any]) -> None:
    """Its classes of attention are its own, and do not call ours."""
    model = made(kind, sizes)
    check_decoding(model)
    allow_packing(model)
    with pytest.raises(ModelError, match=f"{kind} cannot be trained on packs") as caught:
        check_packs(model)
    assert caught.value.remedy == "Set optimizer.packing to false."


def test_a_model_that_has_its_window_in_the_mask_alone_cannot_be_packed() -> None:
    """Packs have no mask; sequences that are longer than the window would be read whole."""
    model = made("PhimoeForCausalLM", {**FEW_HEADS, "num_local_experts": 4, "sliding_window": 16})
    allow_packing(model)
    with pytest.raises(ModelError, match="type phimoe cannot be trained on packs: they would read beyond the window"):
        check_packs(model)


def test_a_model_that_passes_the_mask_by_its_name_can_be_packed() -> None:
    model = made("DogeForCausalLM", FEW_HEADS)
    allow_packing(model)
    check_packs(model)
