"""Log-likelihoods of every reasoning under every prompt, each prompt encoded once.

The all-pairs way feeds M x N whole sequences. Here a prompt's keys and values are computed once and lent to all
reasonings, so the cost is N prompts plus M x N short continuations.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engine.policies.loading import LanguageModel, logits_of


@torch.inference_mode()
def cross_score(
    model: LanguageModel, prompts: list[list[int]], thoughts: list[list[int]], *, temperature: float = 1.0
) -> Tensor:
    """Summed log-probabilities `(M, N)` of each of M `thoughts` after each of N `prompts`, all lists of token ids."""
    device = next(model.parameters()).device
    padded, mask = _pad(thoughts)
    padded, mask = padded.to(device), mask.to(device)
    columns = [_score_under(model, prompt, padded, mask, temperature) for prompt in prompts]
    return torch.stack(columns, dim=1)


def _score_under(model: LanguageModel, prompt: list[int], thoughts: Tensor, mask: Tensor, temperature: float) -> Tensor:
    """`(M,)` scores of padded `thoughts` (M, T) after one prompt."""
    count, width = thoughts.shape
    ids = torch.tensor([prompt], device=thoughts.device)
    head = model.base_model(input_ids=ids, use_cache=True)
    cache: Any = head.past_key_values
    cache.batch_repeat_interleave(count)
    positions = len(prompt) + torch.arange(width, device=thoughts.device)[None].expand(count, -1)
    body = model.base_model(
        input_ids=thoughts, position_ids=positions, past_key_values=cache, use_cache=True
    ).last_hidden_state
    # the prompt's last state predicts the first token, each thought token the next
    hidden = torch.cat([head.last_hidden_state[:, -1:].expand(count, -1, -1), body[:, :-1]], dim=1)  # (M, T, D)
    chosen = mask.bool()
    logprobs = torch.log_softmax(logits_of(model, hidden[chosen]).float() / temperature, dim=-1)
    found = torch.zeros_like(mask)
    found[chosen] = logprobs.gather(-1, thoughts[chosen][:, None]).squeeze(-1)
    return found.sum(dim=1)


def _pad(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Right-padded ids (M, T) and their mask; causal attention never looks to the right."""
    width = max(len(row) for row in rows)
    ids, mask = torch.zeros((len(rows), width), dtype=torch.long), torch.zeros((len(rows), width))
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(row)
        mask[index, : len(row)] = 1.0
    return ids, mask
