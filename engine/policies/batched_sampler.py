"""Samples responses for many trajectories at once with a Hugging Face model and a ragged key-value cache.

Rows do not wait for each other: a row that has a response gets its next prompt while others keep decoding. Each row
draws from its own random stream, so its samples do not depend on the other rows of the batch, nor on how many of them
are decoded at once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from engine.config.sampling import PREFILL_TOKENS
from engine.policies.attention_masks import attention_mask
from engine.policies.finite import check_finite
from engine.policies.loading import LanguageModel, logits_of, run_body
from engine.policies.ragged_cache import RaggedCache
from engine.policies.truncation import NO_TRUNCATION, Truncation
from engine.rollout.stop_strings import StopStrings
from engine.rollout.types import Response

PREFILL_SHARE = 4  # prefill once a quarter of the rows are waiting
FAR = 1 << 30  # more positions than any model has
NONE = -1  # no slot


@dataclass(slots=True)
class Row:
    """One trajectory in the batch."""

    slot: int  # NONE until it has one
    noise: np.random.Generator
    length: int = 0  # tokens in the cache
    waiting: list[int] = field(default_factory=list)  # prompt tokens to be prefilled
    decoding: bool = False
    budget: int = 0
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)


class BatchedSampler:
    """`ResponseSampler` for one rollout of `rows` trajectories. `temperature` 0 is greedy. Log-probabilities and
    entropies are those of the whole distribution, also where `truncation` leaves tokens out.

    The rows' random streams are spawned from `seeds`, or seeded each with its own of `row_seeds`. At most `at_once`
    rows are decoded at once, 0 for all: further ones wait for a slot, which a row keeps until it is released.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        rows: int,
        at_once: int = 0,
        stop_ids: set[int],
        temperature: float,
        truncation: Truncation = NO_TRUNCATION,
        seeds: list[int] | None = None,
        row_seeds: list[list[int]] | None = None,
        stop_strings: StopStrings | None = None,
        prefill_tokens: int = PREFILL_TOKENS,
    ) -> None:
        self.model = model
        self.stop_ids, self.stop_strings = stop_ids, stop_strings
        self.temperature, self.truncation = temperature, truncation
        self.prefill_tokens = prefill_tokens
        self.last_position = (getattr(model.config, "max_position_embeddings", None) or FAR) - 1
        self.device = next(model.parameters()).device
        self.slots = min(rows, at_once or rows)
        self.cache = RaggedCache(self.slots, dtype=getattr(model.base_model, "computes_in", torch.float32))
        streams = (
            [np.random.SeedSequence(one) for one in row_seeds]
            if row_seeds is not None
            else np.random.SeedSequence(seeds).spawn(rows)
        )
        is_capped = self.slots < rows
        self.rows = [
            Row(slot=NONE if is_capped else row, noise=np.random.default_rng(stream))
            for row, stream in enumerate(streams)
        ]
        self.row_at = [] if is_capped else list(range(rows))  # slot to row; active rows fill the first slots
        self.queued: deque[int] = deque()  # rows with a prompt that wait for a slot
        self.sampled_tokens = 0

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        state = self.rows[row]
        # the last token of the previous response was sampled but is not in the cache yet
        state.waiting = state.ids[-1:] + ids
        state.budget = max_tokens
        state.ids, state.logprobs, state.entropies = [], [], []
        if state.slot == NONE:
            self.queued.append(row)
            self._fill_slots()

    def _fill_slots(self) -> None:
        while self.queued and len(self.row_at) < self.slots:
            row = self.queued.popleft()
            self.rows[row].slot = len(self.row_at)
            self.row_at.append(row)

    def restart(self, row: int) -> None:
        """Empties the row's context; the next prompt overwrites its cache."""
        state = self.rows[row]
        state.length, state.ids = 0, []

    @torch.inference_mode()
    def release(self, row: int) -> None:
        """Frees the row's slot by moving the last active row into it; a row that waits for one gets the last."""
        slot, last = self.rows[row].slot, len(self.row_at) - 1
        moved = self.row_at[last]
        if slot != last and self.cache.keys:
            self.cache.copy_row(last, slot)
        self.row_at[slot] = moved
        self.rows[moved].slot = slot
        self.row_at.pop()
        self._fill_slots()

    @torch.inference_mode()
    def advance(self, *, block: bool = True) -> list[Response] | None:
        while True:
            waiting = [row for row in self.row_at if self.rows[row].waiting]
            decoding = sum(self.rows[row].decoding for row in self.row_at)
            if not waiting and not decoding:
                return [] if block else None
            if waiting and (not decoding or len(waiting) * PREFILL_SHARE >= len(self.row_at)):
                finished = self._prefill(waiting)
            else:
                finished = self._decode()
            if finished or not block:
                return finished

    def _prefill(self, waiting: list[int]) -> list[Response]:
        """Prefills prompts. New rows with the same prompt are computed once and copied."""
        duplicates: dict[tuple[int, ...], list[int]] = {}
        for row in waiting:
            state = self.rows[row]
            key = (-1, row) if state.length else tuple(state.waiting)
            duplicates.setdefault(key, []).append(row)
        finished: list[Response] = []
        batch: list[list[int]] = []
        widest = 0
        for same in sorted(duplicates.values(), key=lambda rows: len(self.rows[rows[0]].waiting)):
            widest = max(widest, len(self.rows[same[0]].waiting))
            if batch and widest * (len(batch) + 1) > self.prefill_tokens:
                finished += self._prefill_batch(batch)
                batch, widest = [], len(self.rows[same[0]].waiting)
            batch.append(same)
        return finished + self._prefill_batch(batch)

    def _prefill_batch(self, duplicates: list[list[int]]) -> list[Response]:
        leaders = [self.rows[same[0]] for same in duplicates]
        widths = torch.tensor([len(state.waiting) for state in leaders])
        starts = torch.tensor([state.length for state in leaders])
        ids = torch.zeros((len(leaders), int(widths.max())), dtype=torch.long)
        for index, state in enumerate(leaders):
            ids[index, : len(state.waiting)] = torch.tensor(state.waiting)
        slots = torch.tensor([state.slot for state in leaders])
        hidden = self._forward(ids, starts, slots=slots)
        last = hidden[torch.arange(len(leaders)), (widths - 1).to(hidden.device)]
        logits = logits_of(self.model, last)
        repeats = torch.tensor([len(same) for same in duplicates])
        sources = slots.repeat_interleave(repeats)
        rows = [row for same in duplicates for row in same]
        targets = torch.tensor([self.rows[row].slot for row in rows])
        copied = sources != targets
        if copied.any():
            self.cache.copy_rows(sources[copied].to(self.device), targets[copied].to(self.device))
        for row in rows:
            state = self.rows[row]
            state.length += len(state.waiting)
            state.waiting, state.decoding = [], True
        return self._sample(rows, logits.repeat_interleave(repeats.to(logits.device), dim=0))

    def _decode(self) -> list[Response]:
        """One more token for every decoding row. Waiting rows are computed too, and what they write is overwritten."""
        states = [self.rows[row] for row in self.row_at]
        ids = torch.tensor([[state.ids[-1] if state.decoding else 0] for state in states])
        starts = torch.tensor([state.length for state in states])
        hidden = self._forward(ids, starts)[:, -1]
        chosen = [slot for slot, state in enumerate(states) if state.decoding]
        for slot in chosen:
            states[slot].length += 1
        if len(chosen) < len(states):
            hidden = hidden[chosen]
        return self._sample([self.row_at[slot] for slot in chosen], logits_of(self.model, hidden))

    def _forward(self, ids: Tensor, starts: Tensor, *, slots: Tensor | None = None) -> Tensor:
        """Hidden states (N, Q, D) of `ids` (N, Q), which come after `starts` (N,) cached tokens."""
        positions = starts[:, None] + torch.arange(ids.shape[1])  # (N, Q)
        width = int(positions.max()) + 1
        mask = attention_mask(self.model.config, positions.to(self.device), torch.arange(width, device=self.device))
        # the padding of a short row may exceed the last position of the model
        known = positions.clamp(max=self.last_position).to(self.device)
        positions = positions.to(self.device)
        self.cache.prepare(
            positions=positions, width=width, slots=None if slots is None else slots.to(self.device), active=len(ids)
        )
        output = run_body(
            self.model.base_model,
            input_ids=ids.to(self.device),
            attention_mask=mask,
            position_ids=known,
            past_key_values=self.cache,
            use_cache=True,
        )
        hidden: Tensor = output.last_hidden_state
        return hidden

    def _sample(self, rows: list[int], logits: Tensor) -> list[Response]:
        """Draws one token per row from `logits` (N, V) by inverse transform sampling; returns responses that ended."""
        logits = logits.float() / (self.temperature or 1.0)
        logprobs = torch.log_softmax(logits, dim=-1)  # (N, V)
        probs = logprobs.exp()
        lowest = torch.finfo(logprobs.dtype).min  # of a token that the model rules out: 0 x -inf is NaN
        entropies = -(probs * logprobs.clamp(min=lowest)).sum(-1)  # (N,)
        if self.temperature:
            noise = torch.tensor([self.rows[row].noise.random() for row in rows], device=logits.device)
            cumulative = self.truncation.probabilities(probs.double()).cumsum(-1)
            tokens = torch.searchsorted(cumulative, (noise * cumulative[:, -1])[:, None], right=True).squeeze(-1)
            tokens = tokens.clamp(max=logits.shape[-1] - 1)
        else:
            tokens = logits.argmax(-1)
        chosen = logprobs.gather(-1, tokens[:, None]).squeeze(-1)
        found: list[float] = chosen.tolist()
        check_finite(found)
        self.sampled_tokens += len(rows)
        drawn = zip(rows, tokens.tolist(), found, entropies.tolist(), strict=True)
        return [response for row, *draw in drawn if (response := self._take(row, *draw)) is not None]

    def _take(self, row: int, token: int, logprob: float, entropy: float) -> Response | None:
        state = self.rows[row]
        state.ids.append(token)
        state.logprobs.append(logprob)
        state.entropies.append(entropy)
        ended = token in self.stop_ids or (self.stop_strings is not None and self.stop_strings.end(state.ids))
        if not ended and len(state.ids) < state.budget:
            return None
        state.decoding = False
        return Response(row=row, ids=state.ids, logprobs=state.logprobs, entropies=state.entropies, ended=ended)
