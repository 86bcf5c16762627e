"""Samples responses for many trajectories at once with vLLM, whose scheduler mixes prompts with decoding.

Rows wait for nobody: a row that has a response gets its next prompt while others go on decoding. Each response is drawn with
a seed of its own, from its row's stream, so what a row samples does not depend on who else is in the batch (save for
the last digits of logits, which can decide between two tokens that are as good as equal).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.config.cluster import COLDEST, HOTTEST
from engine.errors import ConfigError
from engine.policies.vllm_engine import Completion, VllmEngine
from engine.rollout.types import Response


@dataclass(slots=True)
class Row:
    """One trajectory's context, all of it: vLLM finds by itself how much of it is still in its cache."""

    seeds: np.random.Generator
    context: list[int] = field(default_factory=list)
    key: str = ""  # of the request under way


class VllmSampler:
    """`ResponseSampler` for one rollout of `rows` trajectories. `temperature` 0 is greedy.

    Responses have log-probabilities under the distribution that was sampled from, temperature included, and no entropies:
    vLLM tells none without the whole distribution, so the learner has them from scoring the batch again. An engine
    serves one rollout at a time; what an earlier sampler left under way is aborted. Call `abort` when a rollout is
    broken off. `sampled_tokens` counts those of complete responses, `cached_tokens` those of all `prompt_tokens` that the
    prefix cache spared.
    """

    def __init__(
        self, engine: VllmEngine, *, rows: int, stop_ids: set[int], temperature: float, seeds: list[int]
    ) -> None:
        if temperature and not COLDEST <= temperature <= HOTTEST:
            raise ConfigError(
                f"vLLM cannot sample at temperature {temperature}: it takes 0 and {COLDEST} to {HOTTEST}.",
                remedy="Change rollout.temperature, or use the local backend.",
            )
        self.engine = engine
        self.stop_ids = stop_ids
        self.temperature = temperature
        streams = np.random.SeedSequence(seeds).spawn(rows)
        self.rows = [Row(seeds=np.random.default_rng(stream)) for stream in streams]
        self.row_of: dict[str, int] = {}  # by the key of its request
        self.sampled_tokens = 0
        self.prompt_tokens = 0
        self.cached_tokens = 0
        engine.abort()

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        """`ConfigError` when context, `ids` and response could pass the engine's context."""
        state = self.rows[row]
        state.context = state.context + ids
        state.key = self.engine.submit(
            state.context,
            max_tokens=max_tokens,
            temperature=self.temperature,
            seed=int(state.seeds.integers(2**63)),
            stop_ids=self.stop_ids,
        )
        self.row_of[state.key] = row

    def restart(self, row: int) -> None:
        """Empties the row's context; the blocks that held it are overwritten in time."""
        self.rows[row].context = []

    def release(self, row: int) -> None:
        """Forgets the row, and the response it may be waiting for."""
        state = self.rows[row]
        if self.row_of.pop(state.key, None) is not None:
            self.engine.abort([state.key])
        state.context = []

    def advance(self, *, patient: bool = True) -> list[Response] | None:
        while self.row_of:
            finished = self.engine.step()
            if finished or not patient:
                return [self._take(completion) for completion in finished]
        return [] if patient else None

    def abort(self) -> None:
        """Breaks the rollout off: nothing of it is left in the engine, and `advance` has nothing more to give."""
        self.engine.abort(self.row_of)
        self.row_of = {}

    def _take(self, completion: Completion) -> Response:
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
            ended=completion.ids[-1] in self.stop_ids,
        )
