"""The presets at real size: valid, with the paper's hyperparameters, and accepted by the memory plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import engine
from benchmarks.gpu.models import QWEN25_HALF_BILLION, QWEN25_THREE_BILLION
from benchmarks.scaling.large import LARGE
from engine.cluster.checks import Findings, Machine, check_machine
from engine.cluster.local_memory import LocalMemory
from engine.config import RunConfig, read_config
from engine.sized_defaults import changes_of

REAL = sorted((Path(engine.__file__).parent / "configs" / "real").glob("*.toml"))
SIZES: dict[str, dict[str, Any]] = {
    "Qwen/Qwen2.5-0.5B-Instruct": QWEN25_HALF_BILLION,
    "Qwen/Qwen2.5-3B-Instruct": QWEN25_THREE_BILLION,
    "Qwen/Qwen2.5-7B-Instruct": LARGE["7B"],
}
GPU = int(80e9)  # bytes: the smallest that is sold as 80 GB has a little more


def on_gpus(config: RunConfig, folder: Path, gpus: tuple[int, ...]) -> Findings:
    """The checks of a launch, with the model's configuration on this machine."""
    description = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", **SIZES[config.model.path]}
    (folder / "config.json").write_text(json.dumps(description))
    here = config.model.model_copy(update={"path": str(folder)})
    return check_machine(config.model_copy(update={"model": here}), Machine(gpus=gpus, memory=2**41))


def gpus_of(path: Path) -> int:
    return int(path.stem.removesuffix("_gpus").removesuffix("_gpu").rpartition("_")[2])


def test_there_is_one_for_each_model_on_one_four_and_eight_gpus() -> None:
    found = sorted((read_config(path).model.path, gpus_of(path)) for path in REAL)
    assert found == sorted((model, gpus) for model in SIZES for gpus in (1, 4, 8))


@pytest.mark.parametrize("path", REAL, ids=[path.stem for path in REAL])
def test_the_memory_plan_accepts_it_without_a_warning(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    found = on_gpus(read_config(path), tmp_path, (GPU,) * gpus_of(path))
    assert (found.problems, found.warnings) == ({}, [])
    assert found.memory is not None


@pytest.mark.parametrize("path", REAL, ids=[path.stem for path in REAL])
def test_it_has_the_papers_hyperparameters_and_says_that_it_was_not_run(path: Path) -> None:
    config = read_config(path)
    (environment,) = config.environments
    assert (config.rollout.groups, config.rollout.group_size, config.optimizer.updates_per_step) == (8, 16, 4)
    assert (environment.max_turns, environment.max_actions_per_turn, environment.max_response_tokens) == (5, 2, 400)
    assert (config.loss.clip_low, config.loss.clip_high, config.loss.kl_coefficient) == (0.2, 0.28, 0)
    assert config.description.startswith("Not run. ")
    assert "Not run" in path.read_text().splitlines()[0]


@pytest.mark.parametrize("path", REAL, ids=[path.stem for path in REAL])
def test_it_agrees_with_the_defaults_for_its_size(path: Path) -> None:
    # what is left to a preset: bfloat16 also at 0.5 B
    assert {change.field for change in changes_of(read_config(path))} <= {"optimizer.precision"}


@pytest.mark.parametrize(
    ("preset", "gigabytes"), [("qwen2_5_0_5b_1_gpu", 24), ("qwen2_5_3b_1_gpu", 80), ("qwen2_5_7b_1_gpu", 80)]
)
@pytest.mark.parametrize(("groups", "group_size"), [(8, 16), (16, 8), (64, 16)])
def test_on_one_gpu_the_plan_leaves_a_tenth_of_it_free_with_any_number_of_prompts(
    preset: str, gigabytes: int, groups: int, group_size: int, tmp_path: Path
) -> None:
    """CUDA and fragmentation, which the plan does not count, have to fit too. Five turns of 400 tokens are 2,000 of the
    3,600 of a context; 1,024 trajectories wait for one of 128 rows of the cache."""
    config = read_config(next(path for path in REAL if path.stem == preset))
    rollout = config.rollout.model_copy(update={"groups": groups, "group_size": group_size})
    found = on_gpus(config.model_copy(update={"rollout": rollout}), tmp_path, (int(gigabytes * 1e9),))
    assert (found.problems, found.warnings) == ({}, [])
    assert isinstance(found.memory, LocalMemory)
    assert (found.memory.rows, found.memory.context, found.memory.tokens) == (128, 3600, 8192)
    assert found.memory.total < 0.9 * gigabytes * 1e9


def test_half_a_billion_parameters_with_four_times_the_rows_do_not_fit_24_gb_and_fewer_at_once_do(
    tmp_path: Path,
) -> None:
    """A row of 3,600 tokens, in columns of 128: 3,712 x 2 x 24 layers x 2 heads x 64 x 2 bytes are 45.6 MB. The plan's
    other 9 GB leave room for 128 of them, and not for 512."""
    config = read_config(next(path for path in REAL if path.stem == "qwen2_5_0_5b_1_gpu"))
    rollout = config.rollout.model_copy(update={"rows_at_once": 0, "groups": 32})
    found = on_gpus(config.model_copy(update={"rollout": rollout}), tmp_path, (int(24e9),))
    assert {"rollout.rows_at_once": 128} in [one.changes for one in found.alternatives]
    (warning,) = found.warnings
    assert "rollout.rows_at_once=128" in warning


def test_three_billion_whole_and_seven_billion_with_lora_do_not_train_on_24_gb_and_the_error_names_what_does(
    tmp_path: Path,
) -> None:
    config = read_config(next(path for path in REAL if path.stem == "qwen2_5_3b_1_gpu"))
    found = on_gpus(config, tmp_path, (int(24e9),))
    # 3.09 billion parameters at 16 bytes are 46 GiB
    assert "at least 46.0 GiB, and a GPU has 22.4 GiB" in found.problems["model.path"]
    assert all(one.enough and "model.lora.rank" in one.changes for one in found.alternatives)
