"""Log-likelihoods of every thought under every prompt, each prompt encoded once; and which ones to score.

The all-pairs way feeds M x N whole sequences. Here a prompt's keys and values are computed once and lent to all
thoughts, so the cost is N prompts plus M x N short continuations. What the numbers mean is in `mutual_information`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.policies.loading import LanguageModel, logits_of

Ids = Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """M thoughts and N distinct prompts; thought i was sampled after prompt `true_column[i]`."""

    prompts: list[list[int]]
    thoughts: list[list[int]]
    true_column: list[int]


def sample_pairs(
    pairs: Sequence[tuple[Ids, Ids]], *, reasonings: int, prompts: int, generator: np.random.Generator
) -> Pairs:
    """At most `prompts` distinct prompts and `reasonings` thoughts that followed them, drawn without replacement.

    `pairs` are `(prompt ids, thought ids)` of first turns. Empty thoughts are left out first, so a broken format shows
    as fewer samples. Thoughts are spread evenly over the prompts, as far as there are any, and keep their order.
    """
    usable = [(tuple(prompt), list(thought)) for prompt, thought in pairs if len(thought)]
    distinct = list(dict.fromkeys(prompt for prompt, _ in usable))
    columns = [distinct[i] for i in sorted(generator.permutation(len(distinct))[:prompts])]
    place = {prompt: column for column, prompt in enumerate(columns)}
    open_to = [(place[prompt], thought) for prompt, thought in usable if prompt in place]
    rounds: list[tuple[int, int]] = []  # (how many of the same prompt come before, index), in random order
    taken: Counter[int] = Counter()
    for index in generator.permutation(len(open_to)).tolist():
        column = open_to[index][0]
        rounds.append((taken[column], index))
        taken[column] += 1
    chosen = sorted(index for _, index in sorted(rounds, key=itemgetter(0))[:reasonings])
    return Pairs(
        prompts=[list(prompt) for prompt in columns],
        thoughts=[open_to[i][1] for i in chosen],
        true_column=[open_to[i][0] for i in chosen],
    )


def sample_turns(
    trajectories: Sequence[Sequence[tuple[Ids, Ids]]], *, reasonings: int, generator: np.random.Generator
) -> Pairs:
    """At most `reasonings` thoughts of any turn, scored under each other's whole contexts.

    `trajectories` hold `(context ids, thought ids)` of their turns; empty thoughts are left out first. Each draw takes
    a trajectory with turns left, each as likely, and one of its turns. Unlike RAGEN's no turn is drawn twice and equal
    contexts share a column: repeated columns would push mutual information down.
    """
    left = [list(usable) for turns in trajectories if (usable := [turn for turn in turns if len(turn[1])])]
    columns: dict[tuple[int, ...], int] = {}
    thoughts: list[list[int]] = []
    true_column: list[int] = []
    while left and len(thoughts) < reasonings:
        place = int(generator.integers(len(left)))
        context, thought = left[place].pop(int(generator.integers(len(left[place]))))
        if not left[place]:
            left.pop(place)
        thoughts.append(list(thought))
        true_column.append(columns.setdefault(tuple(context), len(columns)))
    return Pairs(prompts=[list(context) for context in columns], thoughts=thoughts, true_column=true_column)


@torch.no_grad()  # inference mode would leave sharded weights as tensors that no backward pass may use
def cross_score(
    model: LanguageModel,
    prompts: Sequence[Ids],
    thoughts: Sequence[Ids],
    *,
    temperature: float = 1.0,
    batch: int = 128,
) -> Tensor:
    """Summed log-probabilities `(M, N)` float32 of each of M `thoughts` after each of N `prompts`, all token ids.

    `log p(z_i | x_j)` under the distribution at `temperature`; no thought or prompt is empty. `batch` thoughts share a
    forward pass: it bounds memory and changes nothing else.
    """
    if not all(map(len, prompts)) or not all(map(len, thoughts)):
        raise ValueError("An empty prompt or thought cannot be scored; leave it out.")
    device = next(model.parameters()).device
    parts = [[part.to(device) for part in _pad(thoughts[i : i + batch])] for i in range(0, len(thoughts), batch)]
    columns = []
    for prompt in prompts:
        head = model.base_model(input_ids=torch.tensor([list(prompt)], device=device), use_cache=True)
        columns.append(torch.cat([_continue(model, head, ids, mask, temperature) for ids, mask in parts]))
    return torch.stack(columns, dim=1)


def _continue(model: LanguageModel, head: Any, thoughts: Tensor, mask: Tensor, temperature: float) -> Tensor:
    """`(M,)` scores of padded `thoughts` (M, T) after the one prompt that `head` is the encoding of."""
    count, width = thoughts.shape
    cache = deepcopy(head.past_key_values)  # a forward pass writes into the cache that it is given
    cache.batch_repeat_interleave(count)
    length = head.last_hidden_state.shape[1]
    positions = length + torch.arange(width, device=thoughts.device)[None].expand(count, -1)
    # thoughts are padded on the right, where causal attention never looks, so no attention mask is needed
    body = model.base_model(
        input_ids=thoughts, position_ids=positions, past_key_values=cache, use_cache=True
    ).last_hidden_state
    # the prompt's last state predicts the first token, each thought token the next
    hidden = torch.cat([head.last_hidden_state[:, -1:].expand(count, -1, -1), body[:, :-1]], dim=1)  # (M, T, D)
    logprobs = torch.log_softmax(logits_of(model, hidden[mask]).float() / temperature, dim=-1)
    found = torch.zeros(mask.shape, device=mask.device)
    found[mask] = logprobs.gather(-1, thoughts[mask][:, None]).squeeze(-1)
    return found.sum(dim=1)


def _pad(rows: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Right-padded ids (M, T) and where they are real, as booleans."""
    width = max(len(row) for row in rows)
    ids, mask = torch.zeros((len(rows), width), dtype=torch.long), torch.zeros((len(rows), width), dtype=torch.bool)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(list(row))
        mask[index, : len(row)] = True
    return ids, mask
