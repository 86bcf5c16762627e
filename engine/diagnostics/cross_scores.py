"""Log-likelihoods of every thought under every prompt, each prompt encoded once; and which ones to score.

The all-pairs way feeds M x N whole sequences. Here a prompt's keys and values are computed once and lent to all
thoughts, so the cost is N prompts plus M x N short continuations. What the numbers mean is in `mutual_information`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.policies.loading import LanguageModel, run_body
from engine.policies.token_scores import token_scores

Ids = Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """M thoughts and N distinct prompts; thought i was sampled after prompt `true_column[i]`.

    `environments` says whose each prompt is; empty where they are all of one.
    """

    prompts: list[list[int]]
    thoughts: list[list[int]]
    true_column: list[int]
    environments: list[str] = field(default_factory=list)


def sample_pairs(
    pairs: Sequence[tuple[Ids, Ids]],
    *,
    reasonings: int,
    prompts: int,
    generator: np.random.Generator,
    environments: Sequence[str] | None = None,
) -> Pairs:
    """At most `prompts` distinct prompts and `reasonings` thoughts that followed them, drawn without replacement.

    `pairs` are `(prompt ids, thought ids)` of first turns, and `environments` whose each is: prompts are spread evenly
    over them. Empty thoughts are left out first, so a broken format shows as fewer samples. Thoughts are spread evenly
    over the prompts, as far as there are any, and keep their order.
    """
    owners = environments or [""] * len(pairs)
    usable = [
        ((owner, tuple(prompt)), list(thought))
        for owner, (prompt, thought) in zip(owners, pairs, strict=True)
        if len(thought)
    ]
    distinct = list(dict.fromkeys(key for key, _ in usable))
    drawn = evenly(generator.permutation(len(distinct)).tolist(), [owner for owner, _ in distinct])
    columns = [distinct[i] for i in sorted(drawn[:prompts])]
    index = {key: column for column, key in enumerate(columns)}
    open_to = [(index[key], thought) for key, thought in usable if key in index]
    order = evenly(generator.permutation(len(open_to)).tolist(), [column for column, _ in open_to])
    chosen = sorted(order[:reasonings])
    return Pairs(
        prompts=[list(prompt) for _, prompt in columns],
        thoughts=[open_to[i][1] for i in chosen],
        true_column=[open_to[i][0] for i in chosen],
        environments=[owner for owner, _ in columns] if environments else [],
    )


def evenly(order: Sequence[int], owners: Sequence[Hashable]) -> list[int]:
    """`order`, indices into `owners`, so that each owner's first come before any's second, and so on."""
    taken: Counter[Hashable] = Counter()
    rounds: list[tuple[int, int]] = []  # (how many of the same owner come before, index)
    for index in order:
        rounds.append((taken[owners[index]], index))
        taken[owners[index]] += 1
    return [index for _, index in sorted(rounds, key=itemgetter(0))]


def sample_turns(
    trajectories: Sequence[Sequence[tuple[Ids, Ids]]],
    *,
    reasonings: int,
    generator: np.random.Generator,
    environments: Sequence[str] | None = None,
) -> Pairs:
    """At most `reasonings` thoughts of any turn, scored under each other's whole contexts.

    `trajectories` hold `(context ids, thought ids)` of their turns, and `environments` whose each is; empty thoughts
    are left out first. Each draw takes a trajectory with turns left, each as likely, and one of its turns. Unlike
    RAGEN's no turn is drawn twice and equal contexts share a column: repeated columns would push mutual information
    down.
    """
    owners = environments or [""] * len(trajectories)
    left = [
        (owner, list(usable))
        for owner, turns in zip(owners, trajectories, strict=True)
        if (usable := [turn for turn in turns if len(turn[1])])
    ]
    columns: dict[tuple[str, tuple[int, ...]], int] = {}
    thoughts: list[list[int]] = []
    true_column: list[int] = []
    while left and len(thoughts) < reasonings:
        index = int(generator.integers(len(left)))
        owner, turns = left[index]
        context, thought = turns.pop(int(generator.integers(len(turns))))
        if not turns:
            left.pop(index)
        thoughts.append(list(thought))
        true_column.append(columns.setdefault((owner, tuple(context)), len(columns)))
    return Pairs(
        prompts=[list(context) for _, context in columns],
        thoughts=thoughts,
        true_column=true_column,
        environments=[owner for owner, _ in columns] if environments else [],
    )


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
        head = run_body(model.base_model, input_ids=torch.tensor([list(prompt)], device=device), use_cache=True)
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
    body = run_body(
        model.base_model, input_ids=thoughts, position_ids=positions, past_key_values=cache, use_cache=True
    ).last_hidden_state
    # the prompt's last state predicts the first token, each thought token the next
    hidden = torch.cat([head.last_hidden_state[:, -1:].expand(count, -1, -1), body[:, :-1]], dim=1)  # (M, T, D)
    found = torch.zeros(mask.shape, device=mask.device)
    found[mask] = token_scores(model, hidden[mask], thoughts[mask], temperature=temperature)[0]
    return found.sum(dim=1)


def _pad(rows: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Right-padded ids (M, T) and where they are real, as booleans."""
    width = max(len(row) for row in rows)
    ids, mask = torch.zeros((len(rows), width), dtype=torch.long), torch.zeros((len(rows), width), dtype=torch.bool)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(list(row))
        mask[index, : len(row)] = True
    return ids, mask
