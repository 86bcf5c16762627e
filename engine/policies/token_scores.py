"""Log-probabilities and entropies of tokens, with the logits of only some of them in memory at a time.

Over a large vocabulary logits take far more memory than the rest of a forward pass: 2,048 tokens of 151,936 words are
1.2 GB in float32, several times over with what the backward pass reads. So tokens are scored in chunks, and the
backward pass computes the logits of each chunk again.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from engine.config.learning import LOGITS_AT_ONCE
from engine.policies.linear_scores import LinearScores
from engine.policies.loading import LanguageModel, logit_scale, scaled_logits

Scores = tuple[Tensor, Tensor]


def token_scores(model: LanguageModel, hidden: Tensor, ids: Tensor, *, temperature: float) -> Scores:
    """Log-probabilities of `ids` (N,) and entropies in nats, (N,) each, from final hidden states `hidden` (N, D)."""
    head = model.get_output_embeddings()

    def scores(hidden: Tensor, ids: Tensor) -> Scores:
        if not isinstance(head, nn.Linear):
            return _scores_of_another_head(model, hidden, ids, temperature)
        scale = logit_scale(model, temperature=temperature)
        found: Scores = LinearScores.apply(  # type: ignore[no-untyped-call]
            hidden.float(), head.weight, head.bias, ids, scale, getattr(model, "compiles_scores", False)
        )
        return found

    call = getattr(head, "call_unsharded", None)
    return scores(hidden, ids) if call is None else call(scores, hidden, ids)


def _scores_of_another_head(model: LanguageModel, hidden: Tensor, ids: Tensor, temperature: float) -> Scores:
    """As of one with an adapter."""
    head = model.get_output_embeddings()
    most = max(1, LOGITS_AT_ONCE // head.weight.shape[0])
    if len(hidden) <= most:
        return _score(model, head, hidden, ids, temperature)
    parts = [
        checkpoint(_score, model, head.forward, some, chosen, temperature, use_reentrant=False)
        for some, chosen in zip(hidden.split(most), ids.split(most), strict=True)
    ]
    logprobs, entropies = zip(*parts, strict=True)
    return torch.cat(logprobs), torch.cat(entropies)


def _score(
    model: LanguageModel, head: Callable[[Tensor], Tensor], hidden: Tensor, ids: Tensor, temperature: float
) -> Scores:
    # the logits have no name, so that they are gone once this is computed
    logprobs = torch.log_softmax(scaled_logits(model, head(hidden.float())).float() / temperature, dim=-1)  # (N, V)
    chosen = logprobs.gather(-1, ids[:, None]).squeeze(-1)
    return chosen, -(logprobs.exp() * logprobs).sum(-1)


def allow_chunks(head: nn.Module) -> None:
    """Lets a head that FSDP2 shards be gathered once for all chunks of a forward pass, and once for its backward."""
    from torch.distributed.fsdp import register_fsdp_forward_method

    def call(_: nn.Module, function: Callable[..., Any], *tensors: Tensor) -> Any:
        return function(*tensors)

    head.call_unsharded = MethodType(call, head)  # type: ignore[assignment]
    register_fsdp_forward_method(head, "call_unsharded")
