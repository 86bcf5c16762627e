"""Samples responses for many trajectories at once with vLLM, whose scheduler mixes prompts with decoding.

Rows do not wait for each other: a row that has a response gets its next prompt while others keep decoding. Each
response is drawn with its own seed, from its row's stream, so a row's samples do not depend on the other rows of the
batch (except through rounding of the logits, which can decide between two tokens that are almost equally likely).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.config.cluster import COLDEST, HOTTEST
from engine.errors import ConfigError
from engine.policies.finite import check_finite
from engine.policies.vllm_engine import Completion, VllmEngine
from engine.rollout.stop_strings import StopStrings
from engine.rollout.types import Response


@dataclass(slots=True)
class Row:
    """One trajectory's full context: vLLM finds out how much of it is in its cache."""

    seeds: np.random.Generator
    context: list[int] = field(default_factory=list)
    key: str = ""  # of the open request


class VllmSampler:
    """`ResponseSampler` for one rollout of `rows` trajectories. `temperature` 0 is greedy.

    Responses have log-probabilities under the distribution that was sampled from, temperature included, and no
    entropies: vLLM reports none without the whole distribution, so the learner computes them when it scores the batch.
    An engine serves one rollout at a time; open requests of an earlier sampler are aborted. Call `abort` when a rollout
    is cancelled. `sampled_tokens` counts tokens of complete responses, and `cached_tokens` those of all
    `prompt_tokens` that were in the prefix cache.
    """

    def __init__(
        self,
        engine: VllmEngine,
        *,
        rows: int,
        stop_ids: set[int],
        temperature: float,
        seeds: list[int],
        stop_strings: StopStrings | None = None,
    ) -> None:
        if temperature and not COLDEST <= temperature <= HOTTEST:
            raise ConfigError(
                f"vLLM cannot sample at temperature {temperature}: it takes 0 and {COLDEST} to {HOTTEST}.",
                remedy="Change rollout.temperature, or use the local backend.",
            )
        self.engine = engine
        self.stop_ids, self.stop_strings = stop_ids, stop_strings
        self.temperature = temperature
        streams = np.random.SeedSequence(seeds).spawn(rows)
        self.rows = [Row(seeds=np.random.default_rng(stream)) for stream in streams]
        self.row_of: dict[str, int] = {}  # by the key of its request
        self.sampled_tokens = 0
        self.prompt_tokens = 0
        self.cached_tokens = 0
        engine.abort()

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        """`ConfigError` if context, `ids` and response could exceed the engine's context."""
        state = self.rows[row]
        state.context = state.context + ids
        state.key = self.engine.submit(
            state.context,
            max_tokens=max_tokens,
            temperature=self.temperature,
            seed=int(state.seeds.integers(2**63)),
            stop_ids=self.stop_ids,
            stop_strings=self.stop_strings,
        )
        self.row_of[state.key] = row

    def restart(self, row: int) -> None:
        """Empties the row's context; its cache blocks are reused in time."""
        self.rows[row].context = []

    def release(self, row: int) -> None:
        """Frees the row, and aborts its open request if there is one."""
        state = self.rows[row]
        if self.row_of.pop(state.key, None) is not None:
            self.engine.abort([state.key])
        state.context = []

    def advance(self, *, block: bool = True) -> list[Response] | None:
        while self.row_of:
            finished = self.engine.step()
            if finished or not block:
                return [self._take(completion) for completion in finished]
        return [] if block else None

    def abort(self) -> None:
        """Cancels the rollout: its open requests are aborted, and `advance` returns no more responses."""
        self.engine.abort(self.row_of)
        self.row_of = {}

    def _take(self, completion: Completion) -> Response:
        check_finite(completion.logprobs)
        row = self.row_of.pop(completion.key)
        self.rows[row].context += completion.ids
        self.sampled_tokens += len(completion.ids)
        self.prompt_tokens += completion.prompt_tokens
        self.cached_tokens += completion.cached_tokens
        return Response(
            row=row,
            ids=completion.ids,
            logprobs=completion.logprobs,
            entropies=None,
            ended=completion.ids[-1] in self.stop_ids or completion.at_stop_string,
        )
