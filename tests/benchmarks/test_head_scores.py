"""The ways of `benchmarks.head_scores` compute the same: so their bytes and seconds compare."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks.head_scores import PACKAGES, ROOT, TINY_VOCABULARY, WAYS, measure, missing, python_of, source
from engine.policies import linear_scores


@pytest.mark.parametrize("way", ["chunks", "trl", "verl"])
def test_each_way_agrees_with_the_plain_one(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_scores, "LOGITS_AT_ONCE", 3 * 50)  # three tokens in a chunk
    torch.manual_seed(0)
    head, hidden, ids = nn.Linear(8, 50, bias=False), torch.randn(7, 8, requires_grad=True), torch.randint(50, (7,))
    wanted, found = (WAYS[name](head, hidden, ids) for name in ("plain", way))
    for one, other in zip(found, wanted, strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    gradients = [
        torch.autograd.grad(scores[0].sum(), [hidden, head.weight], retain_graph=True) for scores in (found, wanted)
    ]
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_a_measurement_has_bytes_seconds_and_the_loss() -> None:
    assert measure("plain", 16, 256).keys() == {"bytes", "seconds", "loss", "source"}


def test_what_is_not_installed_is_named_by_its_formula_or_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.head_scores.ROOT", tmp_path)
    monkeypatch.setattr("benchmarks.head_scores.installed", lambda package: False)
    assert (source("chunks"), source("trl"), source("verl")) == ("torch", "formula", "formula")
    assert python_of("trl") == sys.executable and missing("trl") == ""
    assert missing("verl_fused") == "It needs verl: make setup-verl."


@pytest.mark.slow
@pytest.mark.parametrize("way", [way for way in PACKAGES if python_of(way) != sys.executable])
def test_the_libraries_own_functions_have_the_loss_of_the_plain_way(way: str) -> None:
    command = [python_of(way), "-m", "benchmarks.head_scores", "--small", "--tokens", "64", "--only", way]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["loss"] == pytest.approx(measure("plain", 64, TINY_VOCABULARY)["loss"], rel=1e-5)
    assert found["source"].startswith(PACKAGES[way])
