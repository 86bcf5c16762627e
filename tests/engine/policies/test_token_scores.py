"""Scores in chunks are those of all tokens at once, and take the memory of one chunk."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engine.policies import token_scores as module
from engine.policies.loading import compute_in
from engine.policies.token_scores import token_scores
from tests.engine.models import small_model

VOCABULARY, WIDTH, TOKENS = 500, 8, 64


class Head:
    """What is read of a language model here."""

    def __init__(self, **config: float) -> None:
        torch.manual_seed(0)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.config = type("Config", (), config)()

    def get_output_embeddings(self) -> nn.Linear:
        return self.head


def scored(model: Any, at_once: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Tensor], int]:
    """Scores and gradients, and how many bytes the backward pass held, when so many tokens are scored at once."""
    monkeypatch.setattr(module, "LOGITS_AT_ONCE", at_once * VOCABULARY)
    draw = torch.Generator().manual_seed(1)
    hidden = torch.randn(TOKENS, WIDTH, generator=draw, requires_grad=True)
    ids = torch.randint(VOCABULARY, (TOKENS,), generator=draw)
    held = 0

    def count(tensor: Tensor) -> Tensor:
        nonlocal held
        held += tensor.numel() * tensor.element_size()
        return tensor

    model.head.zero_grad()
    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        logprobs, entropies = token_scores(model, hidden, ids, temperature=0.7)
    held_before_backward = held
    (logprobs * torch.arange(TOKENS) + 3 * entropies).sum().backward()
    assert hidden.grad is not None
    return [logprobs, entropies, hidden.grad, model.head.weight.grad.clone()], held_before_backward


@pytest.mark.parametrize("config", [{}, {"final_logit_softcapping": 2.0}, {"logits_scaling": 3.0}])
@pytest.mark.parametrize("at_once", [1, 7, 63])
def test_chunks_have_the_scores_and_gradients_of_all_tokens_at_once(
    config: dict[str, float], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Head(**config)
    (whole, _), (parts, _) = scored(model, TOKENS, monkeypatch), scored(model, at_once, monkeypatch)
    assert float(whole[0].detach().std()) > 0.1
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-5)


def test_what_the_backward_pass_needs_does_not_grow_with_the_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    (_, at_once), (_, in_chunks) = scored(Head(), TOKENS, monkeypatch), scored(Head(), 8, monkeypatch)
    logits = TOKENS * VOCABULARY * 4
    assert at_once > 2 * logits
    assert in_chunks < 0.1 * logits


def test_the_precision_of_float32_products_is_set_on_gpus_and_left_alone_on_cpus() -> None:
    model = small_model()
    before = torch.get_float32_matmul_precision()
    try:
        compute_in(model, "float32", float32="high")
        assert torch.get_float32_matmul_precision() == before
        # a model on the meta device is to be loaded to the device of its source
        model.base_model.weight_source = SimpleNamespace(device=torch.device("cuda"))
        compute_in(model, "float32", float32="high")
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision(before)
