"""Whether a model computes here what it computes in transformers' own forward pass, checked with the weights it has.

Masks, positions, caches and attention functions are handed to the layers of a model, and some ignore one of them
without an error: sampling or training would use other probabilities than the model's.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engine.errors import ModelError, StarboardError
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.loading import DECODERS, run_body
from engine.policies.packing import layout, packed_hidden

PROMPTS = ((11, 8, 3, 14, 6, 9, 12, 4), (7, 13, 5))  # of two rows; lengths differ, so that positions do
TURNS, SAMPLED = 2, 2  # tokens a turn
MOST_NATS = 0.05  # float32 differs by less than 1e-5, TF32 by less than this
MOST_RELATIVE = 0.1  # of a token's hidden state; in bfloat16 it is about 0.01


@torch.no_grad()
def check_decoding(model: Any) -> None:
    """Log-probabilities of two turns, sampled with our cache, are those of a plain forward pass; else `ModelError`."""
    try:
        difference = _largest_difference(model)
    except (StarboardError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # whatever a model raises that does not know our cache
        raise ModelError(
            f"{type(model).__name__} cannot be sampled from here: {type(error).__name__}: {error}"[:400],
            remedy=DECODERS,
        ) from error
    if not difference < MOST_NATS:
        raise ModelError(
            f"{type(model).__name__} cannot be sampled from here: the log-probabilities of sampled tokens are not "
            f"those of its own forward pass (they differ by up to {difference:.2g} nats).",
            remedy=DECODERS,
        )


def _largest_difference(model: Any) -> float:
    vocabulary = model.get_input_embeddings().weight.shape[0]
    sampler = BatchedSampler(model, rows=len(PROMPTS), stop_ids=set(), temperature=1.0, seeds=[0])
    contexts: list[list[int]] = [[] for _ in PROMPTS]
    sampled: list[dict[int, float]] = [{} for _ in PROMPTS]  # log-probabilities by position
    for _ in range(TURNS):
        for row, prompt in enumerate(PROMPTS):
            ids = [token % vocabulary for token in prompt]
            sampler.submit(row, ids, max_tokens=SAMPLED)
            contexts[row] += ids
        while (responses := sampler.advance(block=False)) is not None:
            for response in responses:
                start = len(contexts[response.row])
                sampled[response.row] |= dict(enumerate(response.logprobs, start))
                contexts[response.row] += response.ids
    rows = zip(contexts, sampled, strict=True)
    return max(_difference(model, ids, values) for ids, values in rows)


def _difference(model: Any, ids: list[int], sampled: dict[int, float]) -> float:
    tokens = torch.tensor([ids], device=model.device)
    plain = torch.log_softmax(model(input_ids=tokens, use_cache=False).logits[0].float(), dim=-1)  # (T, V)
    return max(abs(float(plain[at - 1, ids[at]]) - value) for at, value in sampled.items())


@torch.no_grad()
def check_packs(model: Any) -> None:
    """Each sequence of a pack has the hidden states that it has alone; else `ModelError`. All learners of a sharded
    model call this together."""
    vocabulary = model.config.get_text_config().vocab_size
    sequences = [torch.tensor(prompt, device=model.device) % vocabulary for prompt in PROMPTS]
    lengths = torch.tensor([len(one) for one in sequences])
    positions = torch.cat([torch.arange(len(one), device=model.device) for one in sequences])
    body = model.base_model
    packed = packed_hidden(body, torch.cat(sequences), layout(lengths, positions)).split(lengths.tolist())
    for sequence, found in zip(sequences, packed, strict=True):
        alone = run_body(body, input_ids=sequence[None], use_cache=False).last_hidden_state[0]  # (T, D)
        if _relative(found, alone) > MOST_RELATIVE:  # NaN has an error of its own, when something is sampled
            raise ModelError(
                f"{type(model).__name__} cannot be trained on packs: its sequences do not stay separate in them.",
                remedy="Set optimizer.packing to false.",
            )


def _relative(found: Tensor, expected: Tensor) -> float:
    """Of the median token: in bfloat16 a router may choose another expert for one."""
    errors = (found - expected).float().norm(dim=-1) / expected.float().norm(dim=-1)
    return float(errors.median())
