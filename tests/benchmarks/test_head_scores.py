"""The ways of `benchmarks.head_scores` compute the same: so their bytes and seconds compare."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmarks.head_scores import WAYS, measure
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
    assert measure("plain", 16, 256).keys() == {"bytes", "seconds", "loss"}
