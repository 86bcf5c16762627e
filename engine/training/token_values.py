"""Log-probabilities, entropies and values of the tokens of a batch, computed only where something was sampled."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.policies.loading import LanguageModel, logits_of


def hidden_before(model: LanguageModel, ids: Tensor, mask: Tensor) -> Tensor:
    """Final hidden states (N, D) from which the N sampled tokens of `ids` (B, T) were predicted.

    Rows are padded on the right, where causal attention never looks, so no attention mask is needed.
    """
    hidden: Tensor = model(input_ids=ids[:, :-1], use_cache=False).last_hidden_state  # (B, T-1, D)
    return hidden[mask[:, 1:].bool()]


def logprobs_and_entropies(
    model: LanguageModel, ids: Tensor, mask: Tensor, *, temperature: float
) -> tuple[Tensor, Tensor]:
    """Both `(B, T)`, 0 where nothing was sampled, under the distribution that was sampled from."""
    hidden = hidden_before(model.base_model, ids, mask)
    logprobs = torch.log_softmax(logits_of(model, hidden).float() / temperature, dim=-1)  # (N, V)
    chosen = logprobs.gather(-1, ids[mask.bool()][:, None]).squeeze(-1)  # (N,)
    entropies = -(logprobs.exp() * logprobs).sum(-1)
    return spread(chosen, mask), spread(entropies, mask)


def spread(values: Tensor, mask: Tensor) -> Tensor:
    """`(N,)` back to the `(B, T)` places where `mask` is 1."""
    return torch.zeros_like(mask).masked_scatter(mask.bool(), values)


class Critic(nn.Module):
    """The value of the state before each sampled token: a copy of the policy's body and a head, zero at first."""

    def __init__(self, body: nn.Module, width: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(width, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Values (B, T), 0 where nothing was sampled."""
        values: Tensor = self.head(hidden_before(self.body, ids, mask)).squeeze(-1)
        return spread(values.float(), mask)
