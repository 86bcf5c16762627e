"""Two learners that each read their own part of a model have together what one has that reads it whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.policies.loading import load_model
from engine.training import checkpoint, checkpoint_folder
from tests.engine.models import small_model, words
from tests.engine.training.materialized_shards import config_of, save_wide_model, work
from tests.engine.training.together import run_together

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]], int]:
    """Folder, what both processes found, and the bytes of the wide model: one start for all tests."""
    folder = tmp_path_factory.mktemp("filled")
    tied, odd = small_model(tied=True), small_model(inner=65)
    models = {"plain": small_model(), "twice": tied, "tied": tied, "odd": odd}
    for name, model in models.items():
        model.save_pretrained(folder / name)
        words().save_pretrained(folder / name)
    both = {name: weight.clone() for name, weight in tied.state_dict().items()}  # embedding and head, which are one
    save_file(both, folder / "twice/model.safetensors", metadata={"format": "pt"})
    size = save_wide_model(folder / "wide")
    run_together(work, folder)
    return folder, torch.load(folder / "found.pt", weights_only=True), size


@pytest.mark.parametrize("what", ["ships", "tied", "odd", "adapted", "learner", "saved", "saved_adapter"])
def test_no_weight_and_no_buffer_differs_by_a_bit(built: Any, what: str) -> None:
    assert [found[what] for found in built[1]] == [[], []]


def test_a_model_that_cannot_be_read_in_parts_is_loaded_whole_with_a_warning(built: Any) -> None:
    for found in built[1]:
        assert len(found["warnings"]) == 1
        assert "because it stores both " in found["warnings"][0]
    saved, _ = load_model(str(built[0] / "poured/step_1/model"))
    for weight, before in zip(saved.parameters(), small_model(tied=True).parameters(), strict=True):
        torch.testing.assert_close(weight, before + 1, atol=0, rtol=0)


def test_neither_loading_nor_saving_takes_the_memory_of_a_whole_model(built: Any) -> None:
    size = built[2]
    assert size > 100e6
    for found in built[1]:
        # its half, and the one weight that is being read
        assert found["peaks"]["loading"] < 0.75 * size
    # an odd vocabulary, of 713 tokens say, has 357 rows of 512 in the first half of embedding and head, and 356 in the
    # second; an even one has equal halves
    odd = len(words()) % 2
    assert [2 * found["peaks"]["weights"] - size for found in built[1]] == [odd * 2 * 512 * 4, -odd * 2 * 512 * 4]
    # the first holds a file's worth while it writes, which is all of so small a model; the other nothing
    assert built[1][1]["peaks"]["saving"] < 0.4 * size


def test_one_process_resumes_from_a_checkpoint_of_two(built: Any) -> None:
    saved = built[0] / "whole/step_1"
    assert checkpoint_folder.is_valid(saved)
    assert (saved / "learner.safetensors").is_file()
    _, learner, progress = checkpoint.load_learner(config_of(built[0] / "tied"), saved, device="cpu")
    assert progress.step == 1
    held = load_file(saved / "learner.safetensors")
    states = learner.optimizer.state_dict()["state"]
    for number, state in states.items():
        torch.testing.assert_close(state["exp_avg"], held[f"/optimizer/state/{number}/exp_avg"], atol=0, rtol=0)
        assert float(state["step"]) == 2  # mini-batches of an update


def test_a_checkpoint_of_two_is_a_plain_model(built: Any) -> None:
    folder = built[0]
    saved, _ = load_model(str(folder / "large/step_1/model"))
    right, _ = load_model(str(folder / "wide"))
    for (name, weight), other in zip(saved.named_parameters(), right.parameters(), strict=True):
        assert torch.equal(weight, other), name
    ours, theirs = (json.loads((folder / path / "config.json").read_text()) for path in ("large/step_1/model", "wide"))
    assert ours == theirs
