"""Scores of tokens under a linear head, with gradients written out, so that two tensors of tokens x vocabulary are
enough and a chunk's share of the head's gradient is added in place.

With logits z of a token, p = softmax(z), its log-probability l = z_y - logsumexp(z) and entropy H = -sum p log p:

    dl/dz_j = [j = y] - p_j        dH/dz_j = -p_j (log p_j + H)

What follows the matrix products reads the logits of a chunk several times; compiled (`torch.compile`), in fewer passes
over memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from engine.config.learning import LOGITS_AT_ONCE


@dataclass(frozen=True, slots=True)
class LogitScale:
    """What is done to a head's result before softmax: `cap * tanh(multiplier * x / cap) / temperature`, and without a
    cap `multiplier * x / temperature`."""

    multiplier: float = 1.0
    cap: float | None = None
    temperature: float = 1.0

    def apply_(self, logits: Tensor) -> Tensor:
        """In place."""
        if self.cap is None:
            factor = self.multiplier / self.temperature
            return logits if factor == 1 else logits.mul_(factor)
        return logits.mul_(self.multiplier / self.cap).tanh_().mul_(self.cap / self.temperature)

    def slope(self, scaled: Tensor) -> Tensor | float:
        """The derivative of the scaled logits with respect to the head's result; a new tensor if it is one."""
        factor = self.multiplier / self.temperature
        if self.cap is None:
            return factor
        return (scaled * (self.temperature / self.cap)).square_().neg_().add_(1).mul_(factor)


class LinearScores(torch.autograd.Function):
    """Log-probabilities of `ids` (N,) and entropies in nats, (N,) each, from hidden states (N, D), a head's weight
    (V, D) and bias (V,) or None.

    Logits are computed for at most `LOGITS_AT_ONCE` numbers at a time, and once more in the backward pass, except those
    of the last chunk, with which it begins. `compiled`: what follows the matrix products runs compiled, with results
    equal within rounding.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        ids: Tensor,
        scale: LogitScale,
        compiled: bool = False,
    ) -> tuple[Tensor, Tensor]:
        score = _compiled(_scores) if compiled else _scores
        logprobs, entropies, totals = (hidden.new_empty(len(hidden)) for _ in range(3))
        logits = None
        for chunk in _chunks(len(hidden), len(weight)):
            logits = None  # the memory is that of the next one
            logits = _logits(hidden[chunk], weight, bias, scale)  # (n, V)
            logprobs[chunk], entropies[chunk], totals[chunk] = score(logits, ids[chunk])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(hidden, weight, bias, ids, totals, entropies)
        ctx.scale, ctx.compiled = scale, compiled
        ctx.last = logits if any(ctx.needs_input_grad[:3]) else None
        return logprobs, entropies

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        hidden, weight, bias, ids, totals, entropies = ctx.saved_tensors
        wants_hidden, wants_weight, wants_bias, *_ = ctx.needs_input_grad
        of_hidden = torch.empty_like(hidden) if wants_hidden else None
        of_weight = torch.zeros_like(weight) if wants_weight else None
        of_bias = torch.zeros_like(bias) if wants_bias else None
        last, ctx.last = ctx.last, None
        gradient_ = _compiled(_gradient_) if ctx.compiled else _gradient_
        for chunk in reversed(_chunks(len(hidden), len(weight))):
            logits = _logits(hidden[chunk], weight, bias, ctx.scale) if last is None else last
            last = None
            of_logprobs, of_entropies = (None if one is None else one[chunk] for one in gradients)
            gradient = gradient_(
                logits, ids[chunk], totals[chunk], entropies[chunk], of_logprobs, of_entropies, ctx.scale
            )  # (n, V)
            del logits
            if of_hidden is not None:
                torch.mm(gradient, weight, out=of_hidden[chunk])
            if of_weight is not None:
                of_weight.addmm_(gradient.T, hidden[chunk])
            if of_bias is not None:
                of_bias += gradient.sum(0)
            del gradient  # before the next logits
        return of_hidden, of_weight, of_bias, None, None, None


def _chunks(tokens: int, vocabulary: int) -> list[slice]:
    """A shorter one comes first: the logits of the last are not computed again."""
    most = max(1, LOGITS_AT_ONCE // vocabulary)
    edges = [0, *range(tokens % most or most, tokens + 1, most)]
    return [slice(*pair) for pair in pairwise(edges)]


def _logits(hidden: Tensor, weight: Tensor, bias: Tensor | None, scale: LogitScale) -> Tensor:
    return scale.apply_(torch.nn.functional.linear(hidden, weight, bias))


def _scores(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities, entropies and logsumexp, (n,) each, of `logits` (n, V)."""
    total = torch.logsumexp(logits, dim=-1)
    logprobs = logits.gather(-1, ids[:, None]).squeeze(-1) - total
    return logprobs, total - (logits - total[:, None]).exp_().mul_(logits).sum(-1), total


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Once for each process, for chunks of any length."""
    return torch.compile(function, dynamic=True)


def _gradient_(
    logits: Tensor,
    ids: Tensor,
    totals: Tensor,
    entropies: Tensor,
    of_logprobs: Tensor | None,
    of_entropies: Tensor | None,
    scale: LogitScale,
) -> Tensor:
    """The gradient (n, V) of the head's result, in the memory of its scaled `logits`."""
    slope = scale.slope(logits)
    wanted = torch.zeros_like(totals) if of_logprobs is None else of_logprobs
    probabilities = (logits - totals[:, None]).exp_()
    if of_entropies is None:
        torch.mul(probabilities, -wanted[:, None], out=logits)
    else:
        constant = of_entropies * (totals - entropies) - wanted
        logits.mul_(-of_entropies[:, None]).add_(constant[:, None]).mul_(probabilities)
    del probabilities
    logits.scatter_add_(-1, ids[:, None], wanted[:, None])
    return logits if isinstance(slope, float) and slope == 1 else logits.mul_(slope)
