"""Collapse diagnostics of one step: does the first turn's reasoning still depend on its prompt?"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from engine.config import RunConfig
from engine.diagnostics.cross_scores import cross_score, sample_pairs
from engine.diagnostics.mutual_information import estimate
from engine.policies.loading import LanguageModel
from engine.rollout.context_manager import ContextManager
from engine.rollout.types import Trajectory

CLOSE = "</think>"


class TokenText(Protocol):
    """The part of a `ContextManager` that says which tokens a thought is made of."""

    def encode(self, text: str) -> tuple[int, ...]: ...

    def text(self, ids: list[int]) -> str: ...


def collapse_metrics(
    model: LanguageModel, context: ContextManager, trajectories: list[Trajectory], config: RunConfig, *, step: int
) -> dict[str, float]:
    """Mutual information of prompt and first thought: M thoughts scored under N prompts; empty below two prompts."""
    pairs = sample_pairs(
        _first_turns(trajectories, context),
        reasonings=config.diagnostics.reasonings,
        prompts=config.diagnostics.prompts,
        generator=np.random.default_rng([config.seed, step, 3]),
    )
    if len(pairs.prompts) < 2 or len(pairs.thoughts) < 2:
        return {}
    scores = cross_score(model, pairs.prompts, pairs.thoughts, temperature=config.rollout.temperature)
    return estimate(scores.cpu(), [len(ids) for ids in pairs.thoughts], pairs.true_column).to_metrics()


def _first_turns(trajectories: list[Trajectory], context: ContextManager) -> list[tuple[list[int], list[int]]]:
    """`(prompt, thought)` of each first turn as token ids, the prompt's opener included; a missing thought is empty."""
    turns = [(trajectory, trajectory.turns[0]) for trajectory in trajectories if trajectory.turns]
    return [
        (trajectory.seen(turn), thought_ids(trajectory.ids[turn.reply_start : turn.reply_end], context))
        for trajectory, turn in turns
    ]


def thought_ids(reply: list[int], context: TokenText) -> list[int]:
    """The sampled ids before the closing tag. A token that holds part of the tag is not of the thought."""
    close = list(context.encode(CLOSE))
    for start in range(len(reply) - len(close) + 1):
        if reply[start : start + len(close)] == close:
            return reply[:start]
    # some tokenizers join the tag to the word before it, so that it is found in the text only
    place = context.text(reply).find(CLOSE)
    return [] if place < 0 else reply[: _tokens_within(reply, place, context)]


def _tokens_within(reply: list[int], characters: int, context: TokenText) -> int:
    """How many tokens from the start have a text of at most so many characters."""
    return max(n for n in range(len(reply) + 1) if len(context.text(reply[:n])) <= characters)
