"""Two learner processes with FSDP2 over gloo do what one process does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from engine.config import LoraSection, ModelConfig
from engine.policies.adapter import adapted, add_adapter, save_adapter
from engine.training.sharding import Sharded
from tests.engine.models import small_model
from tests.engine.training.sharded_runs import STEPS, run_in
from tests.engine.zoo import save_zoo_model

pytestmark = pytest.mark.slow

CASES: dict[str, dict[str, Any]] = {
    "grpo": {"optimizer": {"micro_batch_tokens": 60, "updates_per_step": 2, "max_grad_norm": 0.5}},
    "a critic and a pull to the start": {
        "algorithm": {"type": "ppo"},
        "loss": {"kl_coefficient": 0.1, "entropy_coefficient": 0.01},
        "optimizer": {"micro_batch_tokens": 60, "max_grad_norm": 0.5},
    },
    "a head that is its embedding": {"tied": True, "optimizer": {"micro_batch_tokens": 60, "max_grad_norm": 0.5}},
    "an adapter": {"model": {"lora": {"rank": 4}}, "loss": {"kl_coefficient": 0.1}},
    "a moving average": {"optimizer": {"ema_decay": 0.9, "micro_batch_tokens": 60}},
    "packs": {"optimizer": {"packing": True, "micro_batch_tokens": 60}},
    "activations computed twice": {"optimizer": {"gradient_checkpointing": True, "micro_batch_tokens": 60}},
}


@pytest.mark.parametrize("case", CASES)
def test_twenty_updates_of_two_processes_are_those_of_one(tmp_path: Path, case: str) -> None:
    one, two = (run_in(size, tmp_path, **CASES[case]) for size in (1, 2))
    assert len(one["metrics"]) == len(two["metrics"]) == STEPS
    for alone, shared in zip(one["metrics"], two["metrics"], strict=True):
        assert shared == pytest.approx(alone, rel=2e-3, abs=2e-5)
    assert one["weights"].keys() == two["weights"].keys()
    for name, weight in one["weights"].items():
        torch.testing.assert_close(two["weights"][name], weight, atol=5e-5, rtol=1e-3)
    for name, weight in one["learner"].get("average", {}).items():
        torch.testing.assert_close(two["learner"]["average"][name], weight, atol=5e-5, rtol=1e-3)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_trained_adapter_is_compared_with_its_start_in_two_processes_too(tmp_path: Path, precision: str) -> None:
    lora, model = LoraSection(rank=3), small_model()  # 3 rows split unevenly
    add_adapter(model, lora)
    for layer in adapted(model).values():
        torch.nn.init.normal_(layer.lora_B["default"].weight, std=0.1)
    save_adapter(model, lora, tmp_path / "adapter", base=ModelConfig())
    sections: dict[str, Any] = {
        "model": {"lora": {"rank": 3}, "adapter": str(tmp_path / "adapter")},
        "loss": {"kl_coefficient": 0.1},
        "optimizer": {"precision": precision, "micro_batch_tokens": 60},
    }
    one, two = (run_in(size, tmp_path, **sections)["metrics"] for size in (1, 2))
    assert one[0]["policy/kl_to_reference"] == two[0]["policy/kl_to_reference"] == 0
    assert two[-1]["policy/kl_to_reference"] == pytest.approx(one[-1]["policy/kl_to_reference"], rel=0.05, abs=1e-4)
    assert one[-1]["policy/kl_to_reference"] > 0


@pytest.mark.parametrize("more", [{}, {"model": {"lora": {"rank": 4}}, "loss": {"kl_coefficient": 0.1}}])
def test_two_processes_in_bfloat16_gather_layers_in_it_and_do_what_one_does(tmp_path: Path, more: Any) -> None:
    sections: dict[str, Any] = {"precision": "bfloat16", "micro_batch_tokens": 60, "max_grad_norm": 0.5}
    one, two = (run_in(size, tmp_path, optimizer=sections, **more) for size in (1, 2))
    exact = run_in(1, tmp_path, optimizer={**sections, "precision": "float32"}, **more)
    # one process keeps weights in float32, but those that an adapter leaves frozen
    assert (one["used"], two["used"]) == ([f"torch.{'bfloat16' if more else 'float32'}"], ["torch.bfloat16"])
    assert {str(weight.dtype) for weight in two["weights"].values()} == {"torch.float32"}  # what the optimiser changes
    # 8 bits of mantissa: the first gradient agrees to about 2 ** -8; later ones follow other weights
    assert two["metrics"][0] == pytest.approx(one["metrics"][0], rel=2e-2, abs=2e-3)
    # sharding changes less than the precision itself does
    assert distance(two["weights"], one["weights"]) < distance(one["weights"], exact["weights"])


def test_layer_norms_are_gathered_in_float32(tmp_path: Path) -> None:
    save_zoo_model(tmp_path / "model", "GPT-2")
    sections: dict[str, Any] = {"precision": "bfloat16", "micro_batch_tokens": 60, "max_grad_norm": 0.5}
    one, two = (run_in(size, tmp_path, optimizer=sections) for size in (1, 2))
    assert two["used"] == ["torch.bfloat16"]
    assert two["metrics"][0] == pytest.approx(one["metrics"][0], rel=2e-2, abs=2e-3)


def distance(some: dict[str, torch.Tensor], others: dict[str, torch.Tensor]) -> float:
    """Of all weights, Euclidean."""
    return float(sum((weight - others[name]).square().sum() for name, weight in some.items())) ** 0.5


@pytest.mark.parametrize("saved_by", [1, 2])
def test_what_one_or_two_processes_saved_one_and_two_go_on_with_alike(tmp_path: Path, saved_by: int) -> None:
    gae = {"algorithm": {"type": "ppo"}}
    torch.save(run_in(saved_by, tmp_path, **gae)["learner"], tmp_path / "learner.pt")
    one, two = (run_in(size, tmp_path, **gae) for size in (1, 2))
    for name, weight in one["learner"]["critic"].items():
        torch.testing.assert_close(two["learner"]["critic"][name], weight, atol=5e-5, rtol=1e-3)
    # 20 updates before, 20 since
    assert {float(of_weight["step"]) for of_weight in two["learner"]["optimizer"]["state"].values()} == {40.0}


def test_processes_take_turns_and_who_has_less_to_do_repeats_what_does_not_count() -> None:
    parts = [torch.tensor([index]) for index in range(3)]
    shares = []
    for rank in range(2):
        share = Sharded.__new__(Sharded)  # as it is without a process group
        share.rank, share.size = rank, 2
        shares.append([(int(part), counts) for part, counts in share.split(parts)])
    assert shares == [[(0, True), (2, True)], [(1, True), (0, False)]]
