"""Top-k and top-p leave out the tokens that plain definitions, and transformers, leave out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import TopKLogitsWarper, TopPLogitsWarper

from engine.policies.batched_sampler import BatchedSampler
from engine.policies.loading import load_model
from engine.policies.truncation import NO_TRUNCATION, Truncation
from engine.rollout.types import Response

CASES = [Truncation(top_p=p, top_k=k) for p in (0.1, 0.5, 0.9, 0.999, 1.0) for k in (0, 1, 5, 40, 1000)]


def by_definition(probs: np.ndarray, truncation: Truncation) -> np.ndarray:
    """Token by token, from the likeliest on."""
    order = list(np.argsort(-probs, kind="stable"))
    kept = order[: truncation.top_k] if truncation.top_k else order
    total = probs[kept].sum()
    nucleus: list[int] = []
    for token in kept:
        if nucleus and probs[nucleus].sum() >= truncation.top_p * total and truncation.top_p < 1:
            break
        nucleus.append(token)
    found = np.zeros_like(probs)
    found[nucleus] = probs[nucleus]
    return found


@pytest.mark.parametrize("truncation", CASES, ids=lambda one: f"p={one.top_p} k={one.top_k}")
def test_the_kept_probabilities_are_those_of_the_definition_and_of_transformers(truncation: Truncation) -> None:
    logits = torch.tensor(np.random.default_rng(7).normal(0, 3, (6, 200)))
    probs = torch.softmax(logits, -1)
    found = truncation.probabilities(probs)
    expected = np.stack([by_definition(row, truncation) for row in probs.numpy()])
    np.testing.assert_array_equal(found.numpy(), expected)
    warped = TopKLogitsWarper(truncation.top_k)(None, logits) if truncation.top_k else logits
    warped = TopPLogitsWarper(truncation.top_p)(None, warped) if truncation.top_p < 1 else warped
    torch.testing.assert_close(found / found.sum(-1, keepdim=True), torch.softmax(warped, -1))


def test_by_hand() -> None:
    probs = torch.tensor([[0.1, 0.4, 0.2, 0.3]])
    # 0.4 alone is below 0.5, and with 0.3 it is above
    assert Truncation(top_p=0.5).probabilities(probs).tolist() == [pytest.approx([0, 0.4, 0, 0.3])]
    # of 0.4, 0.3 and 0.2, which hold 0.9, half is 0.45
    assert Truncation(top_p=0.5, top_k=3).probabilities(probs).tolist() == [pytest.approx([0, 0.4, 0, 0.3])]
    assert Truncation(top_p=0.01).probabilities(probs).tolist() == [pytest.approx([0, 0.4, 0, 0])]  # at least one
    assert NO_TRUNCATION.probabilities(probs) is probs


def test_only_what_truncates_is_sent_to_an_endpoint() -> None:
    assert Truncation(top_p=0.9, top_k=20).fields() == {"top_p": 0.9, "top_k": 20}
    assert NO_TRUNCATION.fields() == {}


def sampled(truncation: Truncation, temperature: float = 2.0) -> tuple[list[list[int]], list[list[float]]]:
    """Sixteen responses of eight tokens, with the log-probabilities that the sampler kept."""
    model, _ = load_model("tiny", device="cpu")
    sampler = BatchedSampler(
        model,
        rows=16,
        stop_ids=set(),
        temperature=temperature,
        truncation=truncation,
        row_seeds=[[n] for n in range(16)],
    )
    for row in range(16):
        sampler.submit(row, [5, 6, 7], max_tokens=8)
    found: dict[int, Response] = {}
    while len(found) < 16:
        found |= {one.row: one for one in sampler.advance() or []}
    return [found[row].ids for row in range(16)], [found[row].logprobs for row in range(16)]


def test_the_sampler_draws_kept_tokens_only_and_keeps_whole_log_probabilities() -> None:
    model, _ = load_model("tiny", device="cpu")
    ids, logprobs = sampled(Truncation(top_k=3))
    seen_below_the_first = False
    for row, kept in zip(ids, logprobs, strict=True):
        with torch.inference_mode():
            logits = model(torch.tensor([[5, 6, 7, *row]])).logits[0, 2:-1].float()
        for token, logprob, one in zip(row, kept, logits, strict=True):
            rank = int((one > one[token]).sum())
            assert rank < 3
            seen_below_the_first |= rank > 0
            assert logprob == pytest.approx(float(torch.log_softmax(one / 2.0, -1)[token]), abs=1e-3)
    assert seen_below_the_first


def test_one_token_is_greedy_and_no_truncation_changes_nothing() -> None:
    greedy, _ = sampled(NO_TRUNCATION, temperature=0.0)
    assert sampled(Truncation(top_k=1))[0] == greedy
    assert sampled(Truncation(top_p=1e-6))[0] == greedy
    assert sampled(Truncation(top_k=10**6))[0] == sampled(NO_TRUNCATION)[0]
