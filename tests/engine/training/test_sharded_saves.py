"""A checkpoint of two learners is the same whether training waits for it or goes on, and a failed one is written again
by both."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from engine.policies.module_copies import module_with
from engine.training.background_save import fits_everywhere
from engine.training.checkpoint_folder import is_valid
from engine.training.checkpoint_state import files_below
from tests.engine.models import small_model, words
from tests.engine.training.sharded_saves import CASES, work
from tests.engine.training.together import run_together

DISK = 8 << 20  # bytes, of which two checkpoints take less


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path | None]:
    path = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", path], capture_output=True)
    if mounted.returncode:
        yield None
    else:
        yield path
        subprocess.run(["umount", "-l", path], check=True)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, disk: Path | None) -> tuple[Path, list[dict[str, Any]]]:
    """The folder, and what both learners found."""
    folder = tmp_path_factory.mktemp("saved")
    small_model().save_pretrained(folder / "model")
    words().save_pretrained(folder / "model")
    run_together(work, folder, disk)
    return folder, torch.load(folder / "found.pt", weights_only=True)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_checkpoints_are_the_same_to_the_bit_although_training_went_on_meanwhile(saved: Any, case: str) -> None:
    waiting, background = (saved[0] / case / how / "step_1" for how in ("waiting", "background"))
    assert is_valid(waiting) and is_valid(background)
    names = [[str(file.relative_to(folder)) for file in files_below(folder)] for folder in (waiting, background)]
    assert names[0] == names[1] and "learner.safetensors" in names[0]
    assert [name for name in names[0] if (waiting / name).read_bytes() != (background / name).read_bytes()] == []


@pytest.mark.slow
def test_a_whole_model_that_is_saved_instead_has_the_weights_of_the_shards(saved: Any) -> None:
    models = [saved[0] / "plain" / how / "step_1/model/model.safetensors" for how in ("waiting", "exported")]
    one, other = (load_weights(file) for file in models)
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_copy_takes_the_bytes_that_are_asked_for(saved: Any, case: str) -> None:
    for found in saved[1]:
        assert found[case]["copied"] <= found[case]["asked for"] <= 1.01 * found[case]["copied"]


@pytest.mark.slow
@pytest.mark.parametrize("how", [0, 1], ids=["waiting", "background"])
def test_all_learners_write_again_once_a_full_disk_has_room(saved: Any, disk: Path | None, how: int) -> None:
    if disk is None:
        pytest.skip("needs the right to mount a file system")
    for found in saved[1]:
        assert "No space left" in found["full disk"][how]["outcome"]
        assert found["full disk"][how]["valid"]
    one, other = (disk / name / "step_1" for name in ("live", "copied"))
    digests = [json.loads((folder / "manifest.json").read_text()) for folder in (one, other)]
    assert digests[0] == digests[1]


def test_each_machine_needs_room_for_the_copies_of_all_its_learners() -> None:
    assert fits_everywhere([("one", 60, 100), ("two", 60, 100)])
    assert not fits_everywhere([("one", 60, 100), ("one", 60, 100)])  # 120 > 100
    assert not fits_everywhere([("one", 40, 100), ("one", 40, 70)])  # 80 > 70, what was free when the second looked


def test_a_module_for_reading_has_the_names_and_ties_of_the_original_and_shares_no_hooks() -> None:
    model = small_model(tied=True)
    asked: list[nn.Module] = []
    model.register_state_dict_pre_hook(lambda module, *_: asked.append(module))
    twin = module_with(model, lambda weight: weight.detach() + 1)
    assert dict(twin.named_parameters()).keys() == dict(model.named_parameters()).keys()
    assert twin.get_output_embeddings().weight is twin.get_input_embeddings().weight
    assert twin.state_dict().keys() and not asked
    for name, weight in twin.named_parameters():
        torch.testing.assert_close(weight, model.get_parameter(name) + 1)


def load_weights(file: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(file)
