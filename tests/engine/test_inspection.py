"""What a page can say of a model before its weights are loaded, and what refuses it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from transformers import GptOssConfig

from engine.__main__ import main
from engine.inspection.inspect import WAYS, inspect_model
from tests.engine.chat_templates import HIDES_THOUGHTS, TEMPLATES, tokenizer_of
from tests.engine.zoo import FAMILIES, ZOO, save_zoo_model, zoo_model


@pytest.mark.parametrize("name", ZOO)
def test_a_model_is_described_by_its_files_alone(tmp_path: Path, name: str) -> None:
    found, model = inspect_model(str(save_zoo_model(tmp_path, name))), zoo_model(name)
    assert found.problems == []
    assert found.parameters == sum(weight.numel() for weight in model.parameters())
    assert (found.layers, found.heads, found.context) == (2, 4, 256)
    assert ("sliding_attention" in found.attention) == ("sliding_window" in ZOO[name][1])
    assert [memory.title for memory in found.memory] == list(WAYS)
    assert found.template is not None
    assert found.template.example.rstrip().endswith("<think>")
    assert found.template.system_role == (name not in ("Gemma 2", "Mistral"))
    hides_thoughts = FAMILIES.get(name, name) in HIDES_THOUGHTS
    assert found.template.hides_thoughts == hides_thoughts
    assert found.template.context == ("without_thoughts" if hides_thoughts else "full")


def test_a_model_without_fused_attention_is_refused_before_its_weights_are_here(tmp_path: Path) -> None:
    GptOssConfig(num_hidden_layers=2).save_pretrained(tmp_path)
    tokenizer_of("Qwen2.5").save_pretrained(tmp_path)
    (problem,) = inspect_model(str(tmp_path)).problems
    assert problem.startswith("GptOssForCausalLM has no attention through PyTorch's scaled_dot_product_attention")


def test_a_bundled_model_is_known_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect-model", "tiny", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == asdict(inspect_model("tiny"))
    assert main(["inspect-model", "tiny"]) == 0
    printed = capsys.readouterr().out
    assert "a first prompt:" in printed
    assert "special tokens: '<|im_end|>', '<|endoftext|>'" in printed


@pytest.mark.parametrize("family", ["Qwen3", "Qwen3-Thinking", "DeepSeek-R1-Distill", "Qwen2.5"])
def test_the_command_says_which_context_matches_the_template(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], family: str
) -> None:
    path = save_zoo_model(tmp_path, "Qwen2")
    (path / "chat_template.jinja").write_text(TEMPLATES[family])
    assert main(["inspect-model", str(path)]) == 0
    verb, context = ("hides", "without_thoughts") if family in HIDES_THOUGHTS else ("shows", "full")
    assert f"the template {verb} earlier thoughts: rollout.context.type={context} matches it" in capsys.readouterr().out


def changed(folder: Path, **config: Any) -> str:
    path = save_zoo_model(folder, "Qwen2") / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    return str(folder)


def test_memory_is_for_the_defaults_of_the_models_size(tmp_path: Path) -> None:
    # 1,600,000 x 32, tied: 51.2 million parameters in the embedding alone
    path = changed(tmp_path, vocab_size=1_600_000, max_position_embeddings=4096)
    (tmp_path / "model.safetensors").unlink()
    small, large = inspect_model("tiny", gpu=False), inspect_model(path, gpu=True)
    assert all("256 trajectories of 1,024 tokens" in " ".join(memory.sentences) for memory in small.memory)
    assert all("128 trajectories of 3,600 tokens" in " ".join(memory.sentences) for memory in large.memory)
    assert all("of a GPU" in memory.sentences[0] for memory in large.memory)


def test_what_refuses_a_model_is_said_with_what_is_known_of_it(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (gone,) = inspect_model(str(tmp_path / "gone")).problems
    assert gone.endswith("does not exist. Give the directory that holds config.json and the weights.")
    save_zoo_model(tmp_path / "step_1" / "model", "Qwen2")
    (checkpoint,) = inspect_model(str(tmp_path / "step_1")).problems
    assert checkpoint.endswith(f"It is a checkpoint: give its model, {tmp_path}/step_1/model.")
    linear = inspect_model(changed(tmp_path / "one", layer_types=["full_attention", "linear_attention"]))
    assert linear.parameters > 0
    assert "have the attention linear_attention" in linear.problems[0]
    path = save_zoo_model(tmp_path / "two", "GPT-2")
    (path / "chat_template.jinja").unlink()
    assert inspect_model(str(path)).problems == [
        f"{str(path)!r} has no chat template. Use an instruct model, or set model.chat_template."
    ]
    assert main(["inspect-model", str(path)]) == 1
    assert inspect_model(str(path), chat_template="{% for m in messages %}{{ m.content }}\n{% endfor %}").problems == []
