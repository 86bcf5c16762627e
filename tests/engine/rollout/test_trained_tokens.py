"""The tokens that are trained on are those that were sampled, each after the tokens that its sampler had before it: for
every chat template, in every context, over several turns, whatever the responses are.
"""

from __future__ import annotations

import random

import pytest

from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.batching import collate
from engine.rollout.context_manager import ContextManager
from engine.rollout.types import Response
from tests.engine.chat_templates import TEMPLATES, tokenizer_of
from tests.engine.rollout.builders import WINDOWS, lake_config, specs_of

Sampled = tuple[list[int], list[int]]  # the tokens before a response, and its own


class Babbler:
    """Says something well-formed or any tokens, special ones too, with and without an end; and notes after what."""

    def __init__(self, context: ContextManager, seed: int) -> None:
        self.context, self.choice = context, random.Random(seed)
        self.rows: dict[int, list[int]] = {}
        self.waiting: dict[int, int] = {}
        self.said: dict[int, list[Sampled]] = {}

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.rows.setdefault(row, []).extend(ids)
        self.waiting[row] = max_tokens

    def restart(self, row: int) -> None:
        self.rows[row] = []

    def release(self, row: int) -> None:
        pass

    def advance(self, *, block: bool = True) -> list[Response]:
        waiting, self.waiting = self.waiting, {}
        return [self._response(row, limit) for row, limit in waiting.items()]

    def _response(self, row: int, limit: int) -> Response:
        words, end = len(self.context.tokenizer), self.context.turn_end
        any_tokens = [
            token for token in self.choice.choices(range(words), k=limit) if token not in self.context.stop_ids
        ]
        ids = self.choice.choice(
            [
                [*self.context.encode("up</think><answer>Up</answer>"), end],
                [*self.context.encode("Up</answer>"), end],
                any_tokens,
                [*any_tokens[: limit // 2], end],
                [end],
            ]
        )[:limit]
        self.said.setdefault(row, []).append((list(self.rows[row]), ids))
        self.rows[row] += ids
        return Response(
            row=row, ids=ids, logprobs=[-0.5] * len(ids), entropies=[0.5] * len(ids), ended=ids[-1:] == [end]
        )


@pytest.mark.parametrize("think", [True, False], ids=["thoughts", "no thoughts"])
@pytest.mark.parametrize(("kind", "turns"), WINDOWS)
@pytest.mark.parametrize("family", TEMPLATES)
def test_what_is_trained_on_is_what_was_sampled_after_the_same_tokens(
    family: str, kind: str, turns: int, think: bool
) -> None:
    config = lake_config(kind, turns, rollout={"groups": 4, "think": think}, max_response_tokens=24)
    context = ContextManager(tokenizer_of(family), think=think)
    sampler = Babbler(context, seed=1)
    proxy = AgentProxy.of(config.rollout, context, max_context_tokens=config.rollout.max_context_tokens)
    trajectories = proxy.rollout(sampler, specs_of(config))
    assert max(len(trajectory.turns) for trajectory in trajectories) == 4
    batch = collate(trajectories)
    for row in range(len(batch)):
        ids, contexts, sampled = (one[row].tolist() for one in (batch.ids, batch.contexts, batch.sampled))
        assert responses_in(ids, contexts, sampled) == sampler.said[row]


def responses_in(ids: list[int], contexts: list[int], sampled: list[float]) -> list[Sampled]:
    found: list[Sampled] = []
    for at, on in enumerate(sampled):
        if on and not (at and sampled[at - 1]):
            before = [ids[earlier] for earlier in range(at) if contexts[earlier] == contexts[at]]
            found.append((before, []))
        if on:
            found[-1][1].append(ids[at])
    return found
