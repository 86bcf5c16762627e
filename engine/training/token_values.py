"""Log-probabilities, entropies and values of the tokens of a batch, computed only where something was sampled.

The model runs on its own device. Batches stay on the CPU, and results are returned there, where light computations are
done; autograd works across the devices.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.config.learning import ON_A_CPU, ON_A_GPU, OptimizerConfig
from engine.policies.loading import LanguageModel, run_body
from engine.policies.packing import can_pack, layout, packed_hidden
from engine.policies.token_scores import token_scores


def tokens_per_forward(optimizer: OptimizerConfig, device: torch.device) -> int:
    """The configured `micro_batch_tokens`, or the default of the device where it is 0."""
    return optimizer.micro_batch_tokens or (ON_A_CPU if device.type == "cpu" else ON_A_GPU)


def hidden_before(body: LanguageModel, ids: Tensor, mask: Tensor, contexts: Tensor) -> Tensor:
    """Final hidden states (N, D) that predict the N sampled tokens of `ids` (B, T).

    Each of a row's `contexts` (B, T) is processed separately. Rows are padded on the right, which causal attention
    never reads, so no attention mask is needed.
    """
    if can_pack(body):
        return _hidden_before_in_pack(body, ids, mask, contexts)
    if not bool((contexts > 0).any()):
        hidden: Tensor = run_body(body, input_ids=ids[:, :-1], use_cache=False).last_hidden_state  # (B, T-1, D)
        return hidden[mask[:, 1:].bool()]
    rows, row, column = split_contexts(ids, contexts)
    hidden = run_body(body, input_ids=rows[:, :-1], use_cache=False).last_hidden_state  # (S, L-1, D)
    sampled = mask.bool()
    return hidden[row[sampled], column[sampled] - 1]


def _hidden_before_in_pack(body: LanguageModel, ids: Tensor, mask: Tensor, contexts: Tensor) -> Tensor:
    """`hidden_before` with all contexts in one pack: except for the padding they are contiguous already."""
    real = contexts >= 0
    first, column = context_starts(contexts)
    starts = first[real].nonzero().squeeze(-1)
    total = int(real.sum())
    lengths = torch.diff(starts, append=starts.new_tensor([total])).cpu()
    hidden = packed_hidden(body, ids[real], layout(lengths, column[real]))  # (N, D)
    return hidden[mask[real].bool().nonzero().squeeze(-1) - 1]


def context_starts(contexts: Tensor) -> tuple[Tensor, Tensor]:
    """Whether a token is its context's first, and its position in its context, `(B, T)` each; 0 on padding."""
    positions = torch.arange(contexts.shape[1], device=contexts.device).expand_as(contexts)
    before = torch.cat([torch.full_like(contexts[:, :1], -2), contexts[:, :-1]], dim=1)
    first = (contexts >= 0) & (contexts != before)
    start = torch.where(first, positions, 0).cummax(dim=1).values
    return first, torch.where(contexts >= 0, positions - start, 0)


def split_contexts(ids: Tensor, contexts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The S contexts of `ids` (B, T) as separate rows `(S, L)`, padded with 0, in order.

    Also the row and the column of each token in them, `(B, T)` each; both are 0 on padding.
    """
    first, column = context_starts(contexts)
    real = contexts >= 0
    row = torch.where(real, first.flatten().cumsum(0).view_as(ids) - 1, 0)
    rows = ids.new_zeros((int(first.sum()), int(column.max()) + 1))
    rows[row[real], column[real]] = ids[real]
    return rows, row, column


def logprobs_and_entropies(
    model: LanguageModel, ids: Tensor, mask: Tensor, contexts: Tensor, *, temperature: float
) -> tuple[Tensor, Tensor]:
    """Both `(B, T)`, 0 where nothing was sampled, under the distribution that was sampled from."""
    device = ids.device
    ids, mask, contexts = (part.to(model.device) for part in (ids, mask, contexts))
    hidden = hidden_before(model.base_model, ids, mask, contexts)
    logprobs, entropies = token_scores(model, hidden, ids[mask.bool()], temperature=temperature)  # (N,)
    return scatter_to_mask(logprobs, mask).to(device), scatter_to_mask(entropies, mask).to(device)


@torch.no_grad()
def sequence_logprobs(model: LanguageModel, ids: list[int]) -> list[float]:
    """Log-probability of every token after the first of one sequence, at temperature 1, in nats."""
    tokens = torch.tensor([ids], device=model.device)
    hidden = run_body(model.base_model, input_ids=tokens[:, :-1], use_cache=False).last_hidden_state[0]  # (T-1, D)
    found: list[float] = token_scores(model, hidden, tokens[0, 1:], temperature=1.0)[0].tolist()
    return found


def scatter_to_mask(values: Tensor, mask: Tensor) -> Tensor:
    """`(N,)` values at the positions of `(B, T)` where `mask` is 1."""
    return torch.zeros_like(mask).masked_scatter(mask.bool(), values)


class Critic(nn.Module):
    """The value of the state before each sampled token: a copy of the policy's body with a head that starts at zero."""

    def __init__(self, body: nn.Module, width: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(width, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, mask: Tensor, contexts: Tensor) -> Tensor:
        """Values (B, T), 0 where nothing was sampled."""
        device = ids.device
        ids, mask, contexts = (part.to(self.head.weight.device) for part in (ids, mask, contexts))
        values: Tensor = self.head(hidden_before(self.body, ids, mask, contexts)).squeeze(-1)
        return scatter_to_mask(values.float(), mask).to(device)
