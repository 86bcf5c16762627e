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
from tests.engine.training.sharded_runs import STEPS, Case, in_one, in_two
from tests.engine.training.together import run_together
from tests.engine.zoo import save_zoo_model

pytestmark = pytest.mark.slow

CLIPPED = {"micro_batch_tokens": 60, "max_grad_norm": 0.5}
HALF = {**CLIPPED, "precision": "bfloat16"}
ADAPTER: dict[str, Any] = {"model": {"lora": {"rank": 4}}, "loss": {"kl_coefficient": 0.1}}
CRITIC: dict[str, Any] = {
    "algorithm": {"type": "ppo"},
    "loss": {"kl_coefficient": 0.1, "entropy_coefficient": 0.01},
    "optimizer": CLIPPED,
}
EQUAL = {
    "grpo": Case({"optimizer": {**CLIPPED, "updates_per_step": 2}}),
    "a critic and a pull to the start": Case(CRITIC),
    "a head that is its embedding": Case({"optimizer": CLIPPED}, model="tied"),
    "an adapter": Case(ADAPTER),
    "a moving average": Case({"optimizer": {"ema_decay": 0.9, "micro_batch_tokens": 60}}),
    "packs": Case({"optimizer": {"packing": True, "micro_batch_tokens": 60}}),
    "activations computed twice": Case({"optimizer": {"gradient_checkpointing": True, "micro_batch_tokens": 60}}),
}
RESUMED = {f"after {size}": Case(CRITIC, after=f"a critic and a pull to the start.of_{size}.pt") for size in (1, 2)}
HALVED = {"all weights": Case({"optimizer": HALF}), "adapter": Case({"optimizer": HALF, **ADAPTER})}
EXACT = {f"exact {name}": Case({**case.sections, "optimizer": CLIPPED}) for name, case in HALVED.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the results of every case in one process and in two."""
    folder = tmp_path_factory.mktemp("sharding")
    small_model().save_pretrained(folder / "model")
    small_model(tied=True).save_pretrained(folder / "tied")
    save_zoo_model(folder / "gpt2", "GPT-2")
    both = EQUAL | HALVED | {"layer norms": Case({"optimizer": HALF}, model="gpt2")} | trained_adapters(folder)
    for name, case in (both | EXACT).items():
        in_one(case, folder, name)
    run_together(in_two, both | RESUMED, folder)
    for name, case in RESUMED.items():
        in_one(case, folder, name)
    return folder


def trained_adapters(folder: Path) -> dict[str, Case]:
    lora, model = LoraSection(rank=3), small_model()  # 3 rows split unevenly
    add_adapter(model, lora)
    for layer in adapted(model).values():
        torch.nn.init.normal_(layer.lora_B["default"].weight, std=0.1)
    save_adapter(model, lora, folder / "adapter", base=ModelConfig())
    adapter = {"model": {"lora": {"rank": 3}, "adapter": str(folder / "adapter")}, "loss": {"kl_coefficient": 0.1}}
    return {
        precision: Case({**adapter, "optimizer": {"precision": precision, "micro_batch_tokens": 60}})
        for precision in ("float32", "bfloat16")
    }


def result(folder: Path, case: str, size: int) -> dict[str, Any]:
    return dict(torch.load(folder / f"{case}.of_{size}.pt", weights_only=True))


def results(folder: Path, case: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return result(folder, case, 1), result(folder, case, 2)


@pytest.mark.parametrize("case", EQUAL)
def test_the_updates_of_two_processes_are_those_of_one(folder: Path, case: str) -> None:
    one, two = results(folder, case)
    assert len(one["metrics"]) == len(two["metrics"]) == STEPS
    for alone, shared in zip(one["metrics"], two["metrics"], strict=True):
        assert shared == pytest.approx(alone, rel=2e-3, abs=2e-5)
    assert one["weights"].keys() == two["weights"].keys()
    for name, weight in one["weights"].items():
        torch.testing.assert_close(two["weights"][name], weight, atol=5e-5, rtol=1e-3)
    for name, weight in one["learner"].get("average", {}).items():
        torch.testing.assert_close(two["learner"]["average"][name], weight, atol=5e-5, rtol=1e-3)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_trained_adapter_is_compared_with_its_start_in_two_processes_too(folder: Path, precision: str) -> None:
    one, two = (found["metrics"] for found in results(folder, precision))
    assert one[0]["policy/kl_to_reference"] == two[0]["policy/kl_to_reference"] == 0
    assert two[-1]["policy/kl_to_reference"] == pytest.approx(one[-1]["policy/kl_to_reference"], rel=0.05, abs=1e-4)
    assert one[-1]["policy/kl_to_reference"] > 0


@pytest.mark.parametrize("trained", HALVED)
def test_two_processes_in_bfloat16_gather_layers_in_it_and_do_what_one_does(folder: Path, trained: str) -> None:
    one, two = results(folder, trained)
    exact = result(folder, f"exact {trained}", 1)
    # one process keeps weights in float32, but those that an adapter leaves frozen
    kept = "bfloat16" if trained == "adapter" else "float32"
    assert (one["used"], two["used"]) == ([f"torch.{kept}"], ["torch.bfloat16"])
    assert {str(weight.dtype) for weight in two["weights"].values()} == {"torch.float32"}  # what the optimiser changes
    # 8 bits of mantissa: the first gradient agrees to about 2 ** -8; later ones follow other weights
    assert two["metrics"][0] == pytest.approx(one["metrics"][0], rel=2e-2, abs=2e-3)
    # sharding changes less than the precision itself does
    assert distance(two["weights"], one["weights"]) < distance(one["weights"], exact["weights"])


def test_layer_norms_are_gathered_in_float32(folder: Path) -> None:
    one, two = results(folder, "layer norms")
    assert two["used"] == ["torch.bfloat16"]
    assert two["metrics"][0] == pytest.approx(one["metrics"][0], rel=2e-2, abs=2e-3)


def distance(some: dict[str, torch.Tensor], others: dict[str, torch.Tensor]) -> float:
    """Of all weights, Euclidean."""
    return float(sum((weight - others[name]).square().sum() for name, weight in some.items())) ** 0.5


@pytest.mark.parametrize("saved_by", [1, 2])
def test_what_one_or_two_processes_saved_one_and_two_go_on_with_alike(folder: Path, saved_by: int) -> None:
    one, two = results(folder, f"after {saved_by}")
    for name, weight in one["learner"]["critic"].items():
        torch.testing.assert_close(two["learner"]["critic"][name], weight, atol=5e-5, rtol=1e-3)
    steps = {float(of_weight["step"]) for of_weight in two["learner"]["optimizer"]["state"].values()}
    assert steps == {2.0 * STEPS}  # as many before as since


def test_processes_take_turns_and_who_has_less_to_do_repeats_what_does_not_count() -> None:
    parts = [torch.tensor([index]) for index in range(3)]
    shares = []
    for rank in range(2):
        share = Sharded.__new__(Sharded)  # as it is without a process group
        share.rank, share.size = rank, 2
        shares.append([(int(part), counts) for part, counts in share.split(parts)])
    assert shares == [[(0, True), (2, True)], [(1, True), (0, False)]]
