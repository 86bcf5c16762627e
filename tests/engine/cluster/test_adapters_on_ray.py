"""A run on Ray with vLLM that starts from an adapter: it is trained further, with its start as the reference."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from engine.config import LoraSection, ModelConfig
from engine.events import StepCompleted
from engine.policies.adapter import adapted, add_adapter, save_adapter
from engine.policies.adapter_files import read_adapter
from engine.policies.loading import load_model
from tests.engine.cluster.runs import complete, events, needs_ray, ray_config
from tests.engine.policies.vllm_builders import needs_vllm

pytestmark = [pytest.mark.slow, needs_ray, needs_vllm]


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    """Of the later half of the layers, with an update that is not 0."""
    lora, (model, _) = LoraSection(rank=4, alpha=8.0), load_model("tiny")
    names = [name for name, part in model.base_model.named_modules() if isinstance(part, torch.nn.Linear)]
    later = [f"{model.base_model_prefix}.{name}" for name in names[len(names) // 2 :]]
    add_adapter(model, lora, ranks=dict.fromkeys(later, 4))
    for layer in adapted(model).values():
        torch.nn.init.normal_(layer.lora_B["default"].weight, std=0.01)
    save_adapter(model, lora, tmp_path / "adapter", base=ModelConfig(path="tiny"))
    return tmp_path / "adapter"


def test_a_run_of_two_steps_trains_the_adapter_further(adapter: Path, tmp_path: Path, ray_address: str) -> None:
    targets = read_adapter(str(adapter)).targets
    config = ray_config(
        steps=2,
        cluster={"sampler": "vllm"},
        model={"adapter": str(adapter), "lora": {"rank": 4, "alpha": 8.0, "targets": targets}},
        loss={"kl_coefficient": 0.1},
    )
    complete(config, tmp_path / "run", RAY_ADDRESS=ray_address)
    steps = [event for event in events(tmp_path / "run") if isinstance(event, StepCompleted)]
    assert [event.step for event in steps] == [1, 2]
    kl = [event.metrics["policy/kl_to_reference"] for event in steps]
    assert kl[0] == 0  # one update a step
    assert kl[1] > 0
    # each sync compares the log-probabilities of vLLM and learner; a step's sampled tokens are compared too
    assert all(abs(event.metrics["policy/sampler_kl"]) < 0.01 for event in steps)
