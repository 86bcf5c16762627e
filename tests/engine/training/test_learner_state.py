"""Where a checkpoint's optimiser state is read to."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.training.learner_state import NAME, read_learner_state


@pytest.mark.parametrize(("learners", "device"), [(1, "meta"), (2, "cpu"), (3, "cpu")])
def test_one_learner_reads_to_its_device_and_one_of_several_to_main_memory(
    tmp_path: Path, learners: int, device: str
) -> None:
    """Each of several keeps its shard only, so the whole state must not be on its device first."""
    torch.save({"optimizer": {"state": {0: {"exp_avg": torch.ones(3)}}}}, tmp_path / f"{NAME}.pt")
    learner: Any = SimpleNamespace(
        share=SimpleNamespace(size=learners), model=SimpleNamespace(device=torch.device("meta"))
    )
    found = read_learner_state(tmp_path, learner)
    assert found["optimizer"]["state"][0]["exp_avg"].device.type == device
