"""A run starts from a model and a LoRA adapter in peft's format: it trains the adapter further, or merges it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file

from engine.cluster.checks import Machine, check_machine
from engine.config import LoraSection, ModelConfig, build_config
from engine.errors import ModelError
from engine.evaluation.models import LocalModel
from engine.inspection.inspect import inspect_model
from engine.policies.adapter import adapted, adapter_parameters, add_adapter, merged_state, save_adapter
from engine.policies.adapter_files import read_adapter
from engine.policies.meta_model import NeedsWholeLoad, meta_model
from engine.training.checkpoint import load_learner, save
from engine.training.checkpoint_settings import weight_settings
from engine.training.checkpoint_state import LiveState, Progress
from engine.training.reference import StartingAdapter
from engine.training.session import EXIT_DONE, train
from tests.engine.adapters import LORA, configured, save_small_adapter
from tests.engine.models import save_small_model, small_model
from tests.engine.training.builders import made_up_batch, update
from tests.engine.zoo import save_zoo_model, zoo_model

BIG = Machine(gpus=(), memory=10**12)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("base"))


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    return save_small_adapter(tmp_path / "adapter")


@torch.no_grad()
def logits(model: Any) -> torch.Tensor:
    return model(torch.arange(20, 40)[None]).logits


def expected_weight(base: Path, adapter: Path, layer: str) -> torch.Tensor:
    """W + alpha / rank * B A, by hand; alpha / rank = 8 / 4."""
    update = load_file(adapter / "adapter_model.safetensors")
    a, b = (update[f"base_model.model.{layer}.lora_{part}.weight"] for part in "AB")
    found: torch.Tensor = load_file(base / "model.safetensors")[f"{layer}.weight"] + 2 * b @ a
    return found


@pytest.mark.parametrize("layer", ["model.layers.0.self_attn.q_proj", "model.layers.1.mlp.down_proj"])
def test_without_lora_the_adapter_is_merged_and_all_weights_train(base: Path, adapter: Path, layer: str) -> None:
    _, learner, _ = load_learner(configured(base, adapter, rank=0), None, device="cpu")
    found = learner.model.get_submodule(layer).weight
    torch.testing.assert_close(found, expected_weight(base, adapter, layer))
    assert not adapted(learner.model)
    assert all(weight.requires_grad for weight in learner.model.parameters())
    assert {*dict(learner.model.named_parameters())} == {*dict(small_model().named_parameters())}


def test_with_lora_the_adapter_is_trained_further(base: Path, adapter: Path) -> None:
    _, learner, _ = load_learner(configured(base, adapter, rank=4), None, device="cpu")
    _, merged, _ = load_learner(configured(base, adapter, rank=0), None, device="cpu")
    torch.testing.assert_close(logits(learner.model), logits(merged.model), atol=1e-5, rtol=0)
    assert (logits(learner.model) - logits(small_model())).abs().max() > 0.01
    assert all(".lora_" in name for name, weight in learner.model.named_parameters() if weight.requires_grad)


@pytest.mark.parametrize("rank", [0, 4])
def test_the_reference_is_the_model_with_the_adapter(base: Path, adapter: Path, rank: int) -> None:
    config = configured(base, adapter, rank=rank, loss={"kl_coefficient": 0.1})
    _, learner, _ = load_learner(config, None, device="cpu")
    assert learner.reference is not None
    with learner.reference.model() as reference:
        torch.testing.assert_close(logits(reference), logits(learner.model), atol=1e-5, rtol=0)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_trained_adapter_is_compared_with_its_start_on_the_same_weights(
    base: Path, adapter: Path, tmp_path: Path, precision: str
) -> None:
    optimizer = {"precision": precision, "learning_rate": 0.01, "updates_per_step": 1}
    config = configured(base, adapter, rank=4, loss={"kl_coefficient": 0.1}, optimizer=optimizer)
    batch = made_up_batch()
    tokenizer, learner, _ = load_learner(config, None, device="cpu")
    assert not config.copies_reference
    assert isinstance(learner.reference, StartingAdapter)
    start = learner.reference_logprobs(batch)
    assert start is not None
    trained = {name: weight.detach().clone() for name, weight in adapter_parameters(learner.model)}

    assert update(learner, batch)["policy/kl_to_reference"] == 0  # nothing is rounded: it is the same computation
    assert any(not torch.equal(weight, trained[name]) for name, weight in adapter_parameters(learner.model))
    now = {name: weight.detach().clone() for name, weight in adapter_parameters(learner.model)}
    again = learner.reference_logprobs(batch)
    assert again is not None
    assert torch.equal(start, again)
    assert all(torch.equal(weight, now[name]) for name, weight in adapter_parameters(learner.model))
    assert update(learner, batch)["policy/kl_to_reference"] > 0

    saved = save(tmp_path, tokenizer, LiveState(learner, Progress(step=1)))
    _, resumed, _ = load_learner(config, saved, device="cpu")
    of_resumed = resumed.reference_logprobs(batch)
    assert of_resumed is not None
    assert torch.equal(start, of_resumed)


def test_one_of_several_learners_reads_the_adapter_or_loads_the_whole_to_merge_it(base: Path, adapter: Path) -> None:
    model = meta_model(str(base), device="cpu", lora=LORA, adapter=adapter)
    name = "model.layers.0.self_attn.q_proj.lora_B.default.weight"
    stored = model.base_model.weight_source.tensor(name, model.get_parameter(name))
    update = load_file(adapter / "adapter_model.safetensors")
    assert torch.equal(stored[:], update["base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight"])
    with pytest.raises(NeedsWholeLoad, match="an adapter is merged"):
        meta_model(str(base), device="cpu", lora=LoraSection(), adapter=adapter)


def test_a_model_is_evaluated_with_the_adapter_of_its_configuration(base: Path, adapter: Path) -> None:
    config = configured(base, adapter, rank=4)
    _, learner, _ = load_learner(config, None, device="cpu")
    found = LocalModel(config, str(base), adapter=adapter)
    torch.testing.assert_close(logits(found.model), logits(learner.model), atol=1e-5, rtol=0)


def problems_of(base: Path, adapter: Path, **lora: Any) -> dict[str, str]:
    model = {"path": str(base), "adapter": str(adapter), "lora": {"rank": 4, "alpha": 8.0, **lora}}
    return check_machine(build_config({"model": model}), BIG).problems


@pytest.mark.parametrize(
    ("lora", "field", "reason"),
    [
        ({"rank": 8}, "model.lora.rank", "The run has rank 8, and its adapter has 4."),
        ({"alpha": 32.0}, "model.lora.alpha", "The run has alpha 32, and its adapter has 8."),
        (
            {"targets": "q_proj,v_proj"},
            "model.lora.targets",
            "The run adapts q_proj, v_proj, and its adapter down_proj,",
        ),
    ],
)
def test_the_run_trains_the_adapter_with_its_own_settings_only(
    base: Path, adapter: Path, lora: dict[str, Any], field: str, reason: str
) -> None:
    assert problems_of(base, adapter) == {}
    assert problems_of(base, adapter, **{**lora, "rank": 0}) == {}  # merged, whatever they are
    problems = problems_of(base, adapter, **lora)
    assert [*problems] == [field]
    assert problems[field].startswith(reason)
    assert "or rank 0 to merge the adapter and train all weights." in problems[field]


def test_an_adapter_of_another_model_is_refused_at_its_field(base: Path, adapter: Path, tmp_path: Path) -> None:
    small_model(width=64).save_pretrained(tmp_path / "wide")
    assert problems_of(tmp_path / "wide", adapter)["model.adapter"] == (
        f"The adapter in {adapter} does not fit the model: its update of model.layers.0.mlp.down_proj is 32 x 64, and "
        "the weight is 64 x 128."
    )


def rewritten(adapter: Path, **entries: Any) -> Path:
    file = adapter / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))
    return adapter


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"use_dora": True}, "has use_dora true, which is not supported"),
        ({"alpha_pattern": {"q_proj": 2}}, "has alpha_pattern"),
        ({"bias": "all"}, 'has bias "all"'),
        ({"init_lora_weights": "pissa"}, 'has init_lora_weights "pissa"'),  # whose base has other weights
        ({"modules_to_save": ["lm_head"]}, "has modules_to_save"),
        ({"peft_type": "IA3"}, "is of the type IA3, and only LORA is supported"),
        ({"r": 2}, "is not of rank 2, which adapter_config.json says"),
        ({"r": "four"}, "do not describe a LoRA adapter"),
    ],
)
def test_what_is_no_plain_lora_adapter_is_refused(
    base: Path, adapter: Path, entries: dict[str, Any], reason: str
) -> None:
    assert reason in problems_of(base, rewritten(adapter, **entries))["model.adapter"]


def kept_in(adapter: Path, wanted: str) -> Path:
    """The adapter with the tensors of the layers whose names contain `wanted`."""
    weights = adapter / "adapter_model.safetensors"
    save_file({name: tensor for name, tensor in load_file(weights).items() if wanted in name}, weights)
    return adapter


@pytest.mark.parametrize("rank", [0, 4])
def test_an_adapter_of_some_layers_changes_those_alone(base: Path, adapter: Path, rank: int) -> None:
    kept_in(adapter, "layers.1.")
    assert problems_of(base, adapter, rank=rank) == {}
    config = configured(base, adapter, rank=rank)
    _, learner, _ = load_learner(config, None, device="cpu")
    merged = merged_state(learner.model)
    for layer, changed in (("model.layers.0.mlp.up_proj", False), ("model.layers.1.mlp.up_proj", True)):
        plain = load_file(base / "model.safetensors")[f"{layer}.weight"]
        expected = expected_weight(base, adapter, layer) if changed else plain
        torch.testing.assert_close(merged[f"{layer}.weight"], expected)
    trained = {name for name, weight in learner.model.named_parameters() if weight.requires_grad}
    assert rank == 0 or all(name.startswith("model.layers.1.") for name in trained)


def test_an_adapter_of_some_layers_is_saved_as_one_and_read_again(base: Path, adapter: Path, tmp_path: Path) -> None:
    config = configured(base, kept_in(adapter, "layers.1."), rank=4)
    _, learner, _ = load_learner(config, None, device="cpu")
    save_adapter(learner.model, LORA, tmp_path / "again", base=ModelConfig(path=str(base)))
    found, given = (load_file(folder / "adapter_model.safetensors") for folder in (tmp_path / "again", adapter))
    assert found.keys() == given.keys()
    assert all(torch.equal(found[name], given[name]) for name in given)
    theirs = PeftModel.from_pretrained(small_model(), tmp_path / "again")
    assert not adapted(theirs.get_submodule("base_model.model.model.layers.0"))
    torch.testing.assert_close(logits(theirs), logits(learner.model))


def test_one_of_several_learners_reads_an_adapter_of_some_layers(base: Path, adapter: Path) -> None:
    model = meta_model(str(base), device="cpu", lora=LORA, adapter=kept_in(adapter, "layers.1."))
    assert {*adapted(model)} == {*read_adapter(str(adapter)).layers}


def test_an_adapter_with_ranks_by_pattern_is_merged_and_not_trained_further(base: Path, adapter: Path) -> None:
    layer = "model.layers.1.mlp.up_proj"
    weights = adapter / "adapter_model.safetensors"
    tensors = load_file(weights)
    a, b = (f"base_model.model.{layer}.lora_{part}.weight" for part in "AB")
    tensors |= {a: tensors[a][:2].contiguous(), b: tensors[b][:, :2].contiguous()}
    save_file(tensors, weights)
    rewritten(adapter, rank_pattern={layer: 2})
    assert problems_of(base, adapter, rank=4) == {
        "model.lora.rank": "Layers of the adapter have ranks from 2 to 4, and a run trains one rank. Use rank 0 to "
        "merge the adapter and train all weights."
    }
    assert problems_of(base, adapter, rank=0) == {}
    _, learner, _ = load_learner(configured(base, adapter, rank=0), None, device="cpu")
    # alpha / rank = 8 / 2
    expected = load_file(base / "model.safetensors")[f"{layer}.weight"] + 4 * tensors[b] @ tensors[a]
    torch.testing.assert_close(learner.model.get_submodule(layer).weight, expected)
    other = learner.model.get_submodule("model.layers.0.mlp.up_proj").weight
    torch.testing.assert_close(other, expected_weight(base, adapter, "model.layers.0.mlp.up_proj"))


@pytest.mark.parametrize("rank", [0, 4])
def test_an_adapter_of_experts_that_are_one_tensor_once_they_are_loaded_is_refused(
    tmp_path: Path, adapter: Path, rank: int
) -> None:
    path = save_zoo_model(tmp_path / "model", "Mixture of experts")
    layer = "model.layers.0.mlp.experts.0.up_proj"  # 16 x 32
    tensors = {
        f"base_model.model.{layer}.lora_A.weight": torch.zeros(4, 32),
        f"base_model.model.{layer}.lora_B.weight": torch.zeros(16, 4),
    }
    save_file(tensors, adapter / "adapter_model.safetensors")
    reason = problems_of(path, adapter, rank=rank)["model.adapter"]
    assert f"it updates {layer}, and experts are merged into one tensor when the model is loaded" in reason
    with pytest.raises(ModelError, match="has no linear layer"):
        load_learner(configured(path, adapter, rank=rank), None, device="cpu")


@pytest.mark.parametrize("name", ["Mixture of experts", "GPT-2"])
@pytest.mark.parametrize("prefixed", [True, False], ids=["own names", "names without the prefix of the body"])
def test_an_adapter_of_this_engine_fits_the_model_that_it_was_trained_on(
    tmp_path: Path, name: str, prefixed: bool
) -> None:
    path = save_zoo_model(tmp_path / "model", name)
    model = zoo_model(name)
    add_adapter(model, LORA)
    save_adapter(model, LORA, tmp_path / "adapter", base=ModelConfig(path="lab/base"))
    if not prefixed:  # as the published GPT-2 is
        weights = load_file(path / "model.safetensors")
        body = f"{model.base_model_prefix}."
        save_file(
            {key.removeprefix(body): value for key, value in weights.items()},
            path / "model.safetensors",
            metadata={"format": "pt"},
        )
    assert problems_of(path, tmp_path / "adapter") == {}


def test_only_a_directory_with_safetensors_is_an_adapter(base: Path, adapter: Path, tmp_path: Path) -> None:
    assert "does not exist" in problems_of(base, tmp_path / "gone")["model.adapter"]
    weights = adapter / "adapter_model.safetensors"
    torch.save(load_file(weights), adapter / "adapter_model.bin")
    weights.rename(tmp_path / "kept")
    assert "has no adapter_model.safetensors" in problems_of(base, adapter)["model.adapter"]
    one_sided = {name: tensor for name, tensor in load_file(tmp_path / "kept").items() if ".lora_A." in name}
    save_file(one_sided, weights)
    assert "has only one of its two tensors" in problems_of(base, adapter)["model.adapter"]
    weights.write_bytes(b"\xff" * 64)
    with pytest.raises(ModelError, match="do not describe a LoRA adapter"):
        read_adapter(str(adapter))


def test_an_inspection_shows_the_adapter_and_what_refuses_it(base: Path, adapter: Path) -> None:
    found = inspect_model(str(base), adapter=str(adapter))
    assert found.problems == []
    assert found.adapter is not None
    # two layers of seven, of 4 x (in + out): see test_adapters
    assert (found.adapter.rank, found.adapter.alpha, found.adapter.layers) == (4, 8.0, 14)
    assert (found.adapter.parameters, found.adapter.base) == (4096, "lab/base")
    assert "does not fit the model" in inspect_model("tiny", adapter=str(adapter)).problems[0]


def test_the_adapter_is_recorded_with_checkpoints(base: Path, adapter: Path) -> None:
    assert weight_settings(configured(base, adapter, rank=4))["model.adapter"] == str(adapter)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 4])
def test_a_run_starts_from_the_adapter_and_resumes_exactly(
    base: Path, adapter: Path, tmp_path: Path, rank: int
) -> None:
    loss = {"kl_coefficient": 0.1}
    for name, steps in (("whole", (2,)), ("parts", (1, 2))):
        for step in steps:
            config = configured(base, adapter, rank=rank, loss=loss, steps=step, checkpoint={"every": 1})
            assert train(config, tmp_path / name, resume=step > 1 and name == "parts") == EXIT_DONE
    file = "checkpoints/step_2/model/model.safetensors"
    whole, parts = (load_file(tmp_path / name / file) for name in ("whole", "parts"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    layer = "model.layers.0.self_attn.q_proj"
    torch.testing.assert_close(whole[f"{layer}.weight"], expected_weight(base, adapter, layer), atol=0.01, rtol=0)
