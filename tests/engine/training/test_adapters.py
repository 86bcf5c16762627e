"""LoRA: a run trains the update alone, resumes exactly, is pulled to its own start, and leaves a plain model behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from engine.config import LoraSection, ModelConfig, build_config
from engine.errors import ConfigError, ModelError
from engine.policies.adapter import adapted, adapter_off, add_adapter, load_adapter, merged_state, save_adapter
from engine.policies.loading import load_model
from engine.policies.meta_model import keeps_names
from engine.training import checkpoint
from engine.training.checkpoint_state import LiveState, Progress
from engine.training.gradient_probe import gradient_metrics
from engine.training.learner import Learner
from engine.training.session import EXIT_DONE, EXIT_FAILED, train
from engine.training.state_copies import copied_state
from engine.training.token_values import logprobs_and_entropies
from tests.engine.models import save_small_model, small_model, words
from tests.engine.training.builders import learner_config, made_up_batch, update
from tests.engine.training.test_runs import events_of, run_config, steps_of
from tests.engine.zoo import zoo_model

LORA = {"rank": 4, "alpha": 8.0}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_model(tmp_path_factory.mktemp("model"))


def lora_config(path: Path, **changes: Any) -> Any:
    return run_config(path, model={"path": str(path), "lora": LORA}, optimizer={"learning_rate": 0.01}, **changes)


def adapted_model(lora: LoraSection | None = None) -> Any:
    """With an update that is not 0, as after some training."""
    model = small_model()
    add_adapter(model, lora or LoraSection(**LORA))
    for layer in adapted(model).values():
        torch.nn.init.normal_(layer.lora_B["default"].weight, std=0.1)
    return model


@torch.no_grad()
def logits(model: Any) -> torch.Tensor:
    return model(torch.arange(20, 40)[None]).logits


def test_every_linear_layer_but_the_last_has_an_update_and_nothing_else_trains() -> None:
    model = small_model()
    whole = sum(weight.numel() for weight in model.parameters())
    add_adapter(model, LoraSection(rank=4))
    trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    assert len(adapted(model)) == 2 * 7
    assert all(".lora_" in name for name in trained)
    # 4 * (in + out) of q (32, 32), k and v (32, 16), o (32, 32), gate and up (32, 64), down (64, 32); two layers
    assert sum(weight.numel() for weight in trained.values()) == 2 * 4 * (64 + 48 + 48 + 64 + 96 + 96 + 96)
    assert sum(weight.numel() for weight in model.parameters()) == whole + 4096


def test_a_fresh_adapter_changes_nothing_and_one_that_is_off_neither() -> None:
    model, plain = small_model(), logits(small_model())
    add_adapter(model, LoraSection(rank=4))
    torch.testing.assert_close(logits(model), plain, atol=0, rtol=0)
    moved = adapted_model()
    assert (logits(moved) - plain).abs().max() > 0.01
    with adapter_off(moved):
        torch.testing.assert_close(logits(moved), plain, atol=0, rtol=0)
    assert (logits(moved) - plain).abs().max() > 0.01
    assert all(layer.lora_A["default"].weight.requires_grad for layer in adapted(moved).values())


def test_the_update_added_into_the_weights_computes_the_same() -> None:
    model, plain = adapted_model(), small_model(1)
    plain.load_state_dict(merged_state(model))
    torch.testing.assert_close(logits(plain), logits(model), atol=1e-5, rtol=0)


def test_an_adapter_is_read_by_peft_and_by_its_own_reader(tmp_path: Path) -> None:
    model = adapted_model()
    save_adapter(model, LoraSection(**LORA), tmp_path / "adapter", base=ModelConfig(path="somewhere"))
    torch.testing.assert_close(logits(PeftModel.from_pretrained(small_model(), tmp_path / "adapter")), logits(model))
    again = small_model()
    add_adapter(again, LoraSection(**LORA))
    load_adapter(again, tmp_path / "adapter")
    torch.testing.assert_close(logits(again), logits(model), atol=0, rtol=0)
    for other in (LoraSection(rank=2), LoraSection(rank=4, targets="q_proj")):
        model = small_model()
        add_adapter(model, other)
        with pytest.raises(ModelError, match="does not fit this model"):
            load_adapter(model, tmp_path / "adapter")


def test_targets_that_the_model_lacks_are_refused_with_those_it_has() -> None:
    for targets in ("query", "q_proj, query", "mlp.q_proj,query"):
        with pytest.raises(ModelError) as raised:
            add_adapter(small_model(), LoraSection(rank=4, targets=targets))
        assert "q_proj" in raised.value.remedy
    with pytest.raises(ModelError) as raised:
        add_adapter(zoo_model("GPT-2"), LoraSection(rank=4, targets="q_proj"))
    assert raised.value.remedy == "Use all-linear, or names from c_attn, c_fc, c_proj, lm_head, separated by commas."
    with pytest.raises(ConfigError, match="targets"):
        build_config({"model": {"lora": {"targets": "q_proj,,"}}})


def test_the_pull_is_to_the_model_without_its_adapter() -> None:
    batch, model = made_up_batch(), adapted_model()
    learner = Learner(model, learner_config(model={"lora": LORA}, loss={"kl_coefficient": 0.1}))
    with torch.no_grad():
        start, _ = logprobs_and_entropies(small_model(), batch.ids, batch.mask, batch.contexts, temperature=1.0)
        now, _ = logprobs_and_entropies(model, batch.ids, batch.mask, batch.contexts, temperature=1.0)
    found = learner.reference_logprobs(batch)
    assert found is not None
    torch.testing.assert_close(found, start, atol=1e-5, rtol=0)
    k3 = ((start - now).exp() - (start - now) - 1) * batch.mask  # exp(d) - d - 1, arXiv 2402.03300 eq. 4
    kl = update(learner, batch)["policy/kl_to_reference"]
    assert kl == pytest.approx(float(k3.sum() / batch.mask.sum()), rel=1e-3)
    assert kl > 0


def test_a_model_whose_head_is_its_embedding_is_saved_with_its_update(tmp_path: Path) -> None:
    model = small_model(tied=True)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    config = learner_config(model={"lora": LORA})
    add_adapter(model, config.model.lora)
    for layer in adapted(model).values():
        torch.nn.init.normal_(layer.lora_B["default"].weight, std=0.1)
    saved = checkpoint.save(tmp_path, words(), LiveState(Learner(model, config), Progress(step=1)))
    torch.testing.assert_close(logits(load_model(str(saved / "model"))[0]), logits(model), atol=1e-4, rtol=1e-4)
    with pytest.raises(ModelError, match="shares its weights with the embedding"):
        add_adapter(small_model(tied=True), LoraSection(rank=4, targets="lm_head"))


@pytest.mark.parametrize("copied", [False, True], ids=["in place", "from a copy"])
def test_a_merged_model_is_written_one_weight_at_a_time_where_its_files_have_its_names(
    path: Path, tmp_path: Path, copied: bool
) -> None:
    """And otherwise by transformers, in the same files."""
    saved = {}
    for name in ("own", "other"):
        model = adapted_model()
        learner = Learner(model, learner_config(model={"path": str(path), "lora": LORA}))
        assert learner.merges_one_by_one
        learner.merges_one_by_one = name == "own"
        state = (copied_state if copied else LiveState)(learner, Progress(step=1))
        saved[name] = checkpoint.save(tmp_path / name, words(), state) / "model"
        torch.testing.assert_close(logits(load_model(str(saved[name]))[0]), logits(model), atol=1e-5, rtol=0)
    one, other = ({file.name for file in folder.iterdir()} for folder in saved.values())
    assert one == other
    configs = [json.loads((folder / "config.json").read_text()) for folder in saved.values()]
    assert configs[0] == configs[1]


def test_files_with_another_name_or_a_missing_weight_do_not_keep_the_models_names(path: Path, tmp_path: Path) -> None:
    model = adapted_model()
    weights = load_file(path / "model.safetensors")
    for name, change in (("renamed", "model.layers.0.mlp.up.weight"), ("missing", "")):
        shutil.copytree(path, tmp_path / name)
        moved = {change if key.endswith("layers.0.mlp.up_proj.weight") else key: one for key, one in weights.items()}
        save_file({key: one for key, one in moved.items() if key}, tmp_path / name / "model.safetensors")
        assert not keeps_names(model, str(tmp_path / name))
    assert keeps_names(model, str(path))


def test_gradients_are_decomposed_over_the_update_alone() -> None:
    batch, config = made_up_batch(), learner_config(model={"lora": LORA}, loss={"kl_coefficient": 0.1})
    metrics = gradient_metrics(Learner(adapted_model(), config), batch, config)
    assert metrics["gradient/all/kl"] > 0


def test_a_run_samples_what_it_trains_and_leaves_a_plain_model(path: Path, tmp_path: Path) -> None:
    assert train(lora_config(path), tmp_path) == EXIT_DONE
    started = events_of(tmp_path)[0]
    assert (started.trainable_parameters, started.parameters) == (4096, started.parameters)
    assert all(abs(metrics["policy/sampler_kl"]) < 1e-5 for metrics in steps_of(tmp_path).values())
    saved = tmp_path / "checkpoints/step_4"
    _, learner, _ = checkpoint.load_learner(lora_config(path), saved, device="cpu")
    assert (logits(learner.model) - logits(small_model())).abs().max() > 1e-3
    for model in (AutoModelForCausalLM.from_pretrained(saved / "model"), load_model(str(saved / "model"))[0]):
        torch.testing.assert_close(logits(model), logits(learner.model), atol=1e-5, rtol=0)
        assert not adapted(model)


@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_an_interrupted_run_with_an_adapter_goes_on_exactly(path: Path, tmp_path: Path, algorithm: str) -> None:
    config = lora_config(path, algorithm={"type": algorithm}, loss={"kl_coefficient": 0.1})
    train(config, tmp_path)
    whole = steps_of(tmp_path)
    shutil.rmtree(tmp_path / "checkpoints/step_4")
    train(config, tmp_path, resume=True)
    assert steps_of(tmp_path) == whole


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"algorithm": {"type": "ppo"}}, "algorithm.type was grpo and is now ppo"),
        ({"model": {"lora": {"rank": 2}}}, "model.lora.rank was 0 and is now 2"),
    ],
)
def test_a_checkpoint_of_another_configuration_is_refused_by_what_differs(
    path: Path, tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    train(run_config(path, steps=1), tmp_path)
    if "model" in changes:
        changes = {"model": {"path": str(path), **changes["model"]}}
    assert train(run_config(path, **changes), tmp_path, resume=True) == EXIT_FAILED
    failure = events_of(tmp_path)[-1]
    assert failure.error == "CheckpointError"
    assert reason in failure.message
    assert "the run started with" in failure.remedy


def test_more_mini_batches_than_trajectories_are_refused() -> None:
    with pytest.raises(ConfigError, match="8 trajectories, too few for 9 mini-batches"):
        build_config({"rollout": {"groups": 4, "group_size": 2}, "optimizer": {"updates_per_step": 9}})
