"""Scores in chunks are those of all tokens at once, and take the memory of one chunk."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engine.compilers import missing_compiler
from engine.policies import linear_scores
from engine.policies.linear_scores import LinearScores, LogitScale
from engine.policies.loading import compute_in, scaled_logits
from engine.policies.token_scores import token_scores
from tests.engine.models import small_model
from tests.engine.peak_bytes import PeakBytes

VOCABULARY, WIDTH, TOKENS = 500, 8, 64


class Head:
    """What is read of a language model here."""

    def __init__(self, *, bias: bool = True, **config: float | None) -> None:
        torch.manual_seed(0)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=bias)
        self.config = type("Config", (), config)()

        self.compiles_scores = False

    def get_output_embeddings(self) -> nn.Linear:
        return self.head


def plain(model: Any, hidden: Tensor, ids: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """By autograd, with all logits at once."""
    logprobs = torch.log_softmax(scaled_logits(model, model.head(hidden)) / temperature, dim=-1)
    return logprobs[torch.arange(len(ids)), ids], -(logprobs.exp() * logprobs).sum(-1)


LOSSES = {
    "of both": lambda logprobs, entropies: (logprobs * torch.arange(TOKENS) + 3 * entropies).sum(),
    "of log-probabilities": lambda logprobs, _: (logprobs * torch.arange(TOKENS)).sum(),
    "of entropies": lambda _, entropies: 3 * entropies.sum(),
}


def inputs() -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(1)
    hidden = torch.randn(TOKENS, WIDTH, generator=draw, requires_grad=True)
    return hidden, torch.randint(VOCABULARY, (TOKENS,), generator=draw)


def scored(model: Any, loss: str, *, at_once: int, monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Scores and gradients when so many tokens are scored at once; by `plain` if 0."""
    hidden, ids = inputs()
    if at_once:
        monkeypatch.setattr(linear_scores, "LOGITS_AT_ONCE", at_once * VOCABULARY)
    found = token_scores(model, hidden, ids, temperature=0.7) if at_once else plain(model, hidden, ids, 0.7)
    weights = [hidden, *model.head.parameters()]
    return [*found, *torch.autograd.grad(LOSSES[loss](*found), weights)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("config", [{}, {"bias": False}, {"final_logit_softcapping": 2.0}, {"logits_scaling": 3.0}])
@pytest.mark.parametrize("at_once", [1, 7, 63, 64])
def test_chunks_have_the_scores_and_gradients_of_all_tokens_at_once(
    config: dict[str, Any], loss: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Head(**config)
    whole = scored(model, loss, at_once=0, monkeypatch=monkeypatch)
    parts = scored(model, loss, at_once=at_once, monkeypatch=monkeypatch)
    assert float(whole[0].detach().std()) > 0.1
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.skipif(bool(missing_compiler("cpu")), reason="needs a C++ compiler")
def test_compiled_they_are_the_same_within_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 tokens 7 at a time, so that one chunk has one; a soft cap is the longest way through the gradient."""
    for loss, cap in (("of both", 2.0), ("of log-probabilities", None)):
        model = Head(final_logit_softcapping=cap)
        eager = scored(model, loss, at_once=7, monkeypatch=monkeypatch)
        model.compiles_scores = True
        compiled = scored(model, loss, at_once=7, monkeypatch=monkeypatch)
        for one, other in zip(eager, compiled, strict=True):
            torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-5)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0
    assert not torch._dynamo.utils.counters["graph_break"]


def test_all_logits_but_those_of_a_whole_chunk_are_computed_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    computed, logits_of = [], linear_scores._logits

    def counted(hidden: Tensor, *more: Any) -> Tensor:
        computed.append(len(hidden))
        return logits_of(hidden, *more)

    monkeypatch.setattr(linear_scores, "_logits", counted)
    scored(Head(), "of both", at_once=30, monkeypatch=monkeypatch)  # of 64 tokens
    assert computed == [4, 30, 30, 30, 4]


def test_the_gradients_are_those_of_finite_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_scores, "LOGITS_AT_ONCE", 2 * 5)  # of five tokens, two at a time
    draw = torch.Generator().manual_seed(1)
    hidden, weight, bias = (
        torch.randn(sizes, generator=draw, dtype=torch.float64, requires_grad=True) for sizes in ((5, 3), (5, 3), (5,))
    )
    for scale in (LogitScale(), LogitScale(0.5, 2.0, 0.7)):

        def scores(*of: Tensor, scale: LogitScale = scale) -> tuple[Tensor, Tensor]:
            found: tuple[Tensor, Tensor] = LinearScores.apply(*of, torch.tensor([0, 1, 4, 4, 2]), scale)
            return found

        assert torch.autograd.gradcheck(scores, (hidden, weight, bias))


@pytest.mark.parametrize(("at_once", "cap", "tensors"), [(8, None, 2), (32, None, 2), (8, 2.0, 3), (32, 2.0, 3)])
def test_two_tensors_of_one_chunk_are_held_and_three_with_soft_capped_logits(
    at_once: int, cap: float | None, tensors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear_scores, "LOGITS_AT_ONCE", at_once * VOCABULARY)
    model = Head(bias=False, final_logit_softcapping=cap)
    hidden, ids = inputs()
    with PeakBytes([hidden, ids, model.head.weight]) as peak:
        LOSSES["of both"](*token_scores(model, hidden, ids, temperature=0.7)).backward()
    assert model.head.weight.grad is not None and hidden.grad is not None
    gradients = model.head.weight.grad.nbytes + hidden.grad.nbytes
    of_tokens = 12 * 8 * TOKENS  # ids, sums, scores and their gradients
    logits = at_once * VOCABULARY * 4
    assert tensors * logits <= peak.bytes <= tensors * logits + gradients + of_tokens


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
