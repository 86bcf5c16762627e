"""A model's shape from its files alone is the shape of the model that is loaded from them."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.errors import ModelError
from engine.policies.assumed_weights import gated_decoder
from engine.policies.loading import load_model
from engine.policies.model_paths import BUNDLED
from engine.policies.model_shape import model_shape
from tests.engine.models import save_small_model, small_model

QWEN25_HALF_BILLION = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32768,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}


def folder_with(directory: Path, config: Any) -> str:
    (directory / "config.json").write_text(json.dumps(config))
    return str(directory)


def test_the_model_that_ships_has_the_parameters_that_it_is_loaded_with() -> None:
    model, _ = load_model("tiny")
    shape = model_shape("tiny")
    assert dict(shape.weights) == {name: tuple(weight.shape) for name, weight in model.named_parameters()}
    assert (shape.hidden, shape.layers, shape.heads, shape.kv_heads, shape.vocabulary) == (128, 2, 4, 4, 713)
    assert (shape.architecture, shape.tied, shape.positions) == ("Qwen2ForCausalLM", False, 2048)


def test_a_head_that_is_the_embedding_is_counted_once(tmp_path: Path) -> None:
    model = small_model(tied=True)
    model.save_pretrained(tmp_path)
    shape = model_shape(str(tmp_path))
    assert shape.tied
    assert shape.parameters == sum(weight.numel() for weight in model.parameters())
    assert set(shape.weights) - set(shape.body) == set()


def test_what_is_not_said_of_tying_is_seen_from_the_weights(tmp_path: Path) -> None:
    save_small_model(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["tie_word_embeddings"]
    assert not model_shape(folder_with(tmp_path, config)).tied


def test_without_weights_the_published_count_comes_out(tmp_path: Path) -> None:
    # 0.49 billion, of which 0.36 billion are not the embedding: https://huggingface.co/Qwen/Qwen2.5-0.5B
    shape = model_shape(folder_with(tmp_path, QWEN25_HALF_BILLION))
    assert shape.parameters == 494_032_768
    assert sum(prod(sizes) for sizes in shape.embedding.values()) == 151_936 * 896


QWEN3_30B_A3B = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "vocab_size": 151936,
    "tie_word_embeddings": False,
}


def test_without_weights_experts_are_counted_too(tmp_path: Path) -> None:
    # 30.5 billion: https://huggingface.co/Qwen/Qwen3-30B-A3B
    shape = model_shape(folder_with(tmp_path, QWEN3_30B_A3B))
    assert round(shape.parameters / 1e9, 1) == 30.5
    assert (shape.experts, shape.experts_per_token, shape.expert_intermediate) == (128, 8, 768)
    assert not shape.in_parts  # they are merged when they are loaded


def test_experts_without_a_size_of_their_own_have_that_of_a_feed_forward(tmp_path: Path) -> None:
    mixtral = {**QWEN25_HALF_BILLION, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}
    shape = model_shape(folder_with(tmp_path, mixtral))
    assert (shape.experts, shape.experts_per_token, shape.expert_intermediate) == (8, 2, 4864)
    dense = model_shape(folder_with(tmp_path, {**QWEN25_HALF_BILLION, "num_experts": None}))
    assert (dense.experts, dense.experts_per_token, dense.in_parts) == (0, 0, True)


def test_the_names_made_up_without_weights_are_those_of_the_real_ones(tmp_path: Path) -> None:
    bare = model_shape(folder_with(tmp_path, json.loads((BUNDLED["tiny"] / "config.json").read_text())))
    assert dict(bare.weights) == dict(model_shape("tiny").weights)


def test_a_model_in_parts_is_counted_whole_or_not_at_all(tmp_path: Path) -> None:
    small_model().save_pretrained(tmp_path, max_shard_size="40KB")
    parts = sorted(tmp_path.glob("*.safetensors"))
    assert len(parts) > 1
    whole = model_shape(str(tmp_path))
    assert whole.parameters == sum(weight.numel() for weight in small_model().parameters())
    parts[0].unlink()
    assert model_shape(str(tmp_path)).parameters == whole.parameters  # by its configuration


def test_files_tell_whether_several_learners_can_each_read_their_part(tmp_path: Path) -> None:
    assert model_shape("tiny").in_parts
    small_model(tied=True).save_pretrained(tmp_path)
    assert model_shape(str(tmp_path)).in_parts
    both = {**load_file(tmp_path / "model.safetensors"), "lm_head.weight": torch.zeros(2, 2)}
    save_file(both, tmp_path / "model.safetensors")  # which of two that should be one is right is seen when it is whole
    assert not model_shape(str(tmp_path)).in_parts
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    assert not model_shape(str(tmp_path)).in_parts


def test_older_names_of_sizes_are_understood(tmp_path: Path) -> None:
    gpt = {"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 11, "n_positions": 64}
    shape = model_shape(folder_with(tmp_path, gpt))
    assert (shape.hidden, shape.heads, shape.kv_heads, shape.head_size) == (8, 2, 2, 4)
    assert (shape.intermediate, shape.positions) == (32, 64)


def test_a_changed_folder_is_read_again(tmp_path: Path) -> None:
    before = model_shape(folder_with(tmp_path, QWEN25_HALF_BILLION)).vocabulary
    after = model_shape(folder_with(tmp_path, {**QWEN25_HALF_BILLION, "vocab_size": 1000})).vocabulary
    assert (before, after) == (151936, 1000)


@pytest.mark.parametrize(
    "config",
    [
        {},
        [],
        None,
        {"hidden_size": "wide"},
        {**QWEN25_HALF_BILLION, "vocab_size": -1},
        {**QWEN25_HALF_BILLION, "num_hidden_layers": 2**70},
        {**QWEN25_HALF_BILLION, "text_config": "none"},
    ],
)
def test_a_configuration_that_tells_no_sizes_is_refused(tmp_path: Path, config: Any) -> None:
    with pytest.raises(ModelError, match="do not describe"):
        model_shape(folder_with(tmp_path, config))


@pytest.mark.parametrize("header", [b"", b"\xff" * 8, b"\x02\0\0\0\0\0\0\0{}"[:7], b"\x04\0\0\0\0\0\0\0null"])
def test_weights_that_are_none_are_refused(tmp_path: Path, header: bytes) -> None:
    folder_with(tmp_path, QWEN25_HALF_BILLION)
    (tmp_path / "model.safetensors").write_bytes(header)
    with pytest.raises(ModelError, match="do not describe"):
        model_shape(str(tmp_path))


@pytest.mark.parametrize(
    "path", ["/nowhere", "nobody/has-such-a-model", "a--b/..", "../..", "~nobody/x", "a b", "x" * 500]
)
def test_what_is_not_on_this_machine_is_said_to_be_so(path: str) -> None:
    with pytest.raises(ModelError, match="not on this machine"):
        model_shape(path)


def test_a_model_of_the_local_cache_is_found_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "models--someone--small"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0123abc")
    save_small_model(repository / "snapshots" / "0123abc")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(tmp_path), raising=False)
    assert model_shape("someone/small").hidden == 32


def test_biases_are_counted_where_the_family_has_them() -> None:
    sizes = {"hidden": 4, "heads": 2, "kv_heads": 1, "head_size": 2, "intermediate": 8, "vocabulary": 10, "layers": 1}
    # embedding 40, queries 16, keys 8, values 8, answer 16, feed-forward 3 x 32, norms 3 x 4, head 40
    assert sum(prod(size) for _, size in gated_decoder(sizes, tied=False)) == 236
    # and 4 of the queries, 2 of the keys, 2 of the values
    assert sum(prod(size) for _, size in gated_decoder(sizes, tied=True, biased=True)) == 236 - 40 + 8
