"""A very small model that has learned the response format: its responses parse and name random actions.

An untrained model's responses never parse, so all returns of a group are equal. This one plays at random, as tests of
filters and advantages need.
"""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path

import torch
from transformers import Qwen2ForCausalLM

from engine.config import EnvironmentConfig
from engine.rollout import prompts
from engine.rollout.batching import collate
from engine.rollout.context_manager import ContextManager
from engine.rollout.types import Trajectory
from engine.training.token_values import logprobs_and_entropies
from tests.engine.models import small_model, words

ACTIONS = ("Left", "Down", "Right", "Up")
THOUGHTS = ("go", "I go", "the goal")
UPDATES = 60


@lru_cache(maxsize=1)
def talking_model() -> Qwen2ForCausalLM:
    """Shared between tests: do not train it, but load it from a directory for that."""
    model = small_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    chance = random.Random(1)
    context = ContextManager(words(), think=True)
    for _ in range(UPDATES):
        batch = collate([_example(context, chance) for _ in range(8)])
        logprobs, _ = logprobs_and_entropies(model, batch.ids, batch.mask, batch.contexts, temperature=1.0)
        (-logprobs.sum() / batch.mask.sum()).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


def save_talking_model(directory: Path) -> Path:
    """A model directory like a user's."""
    talking_model().save_pretrained(directory)
    words().save_pretrained(directory)
    return directory


def _example(context: ContextManager, chance: random.Random) -> Trajectory:
    """A first prompt, or one after a turn, and a response."""
    lake = EnvironmentConfig.model_validate({"kind": "frozen_lake"})
    system, user = (m["content"] for m in prompts.first_prompt(lake, think=True, seed=chance.randrange(1000)))
    example = Trajectory(environment="", kind="", group=0, member=0, seed=0)
    example.append(list(context.first(system, user)))
    for _ in range(chance.randint(0, 1)):
        earlier = list(context.encode(_response(chance) + words().eos_token))
        example.append(earlier)
        example.append(list(context.following(f"Reward 0\n{user}", response=earlier)))
    response = list(context.encode(_response(chance) + words().eos_token))
    example.append(response, logprobs=[0.0] * len(response), entropies=[0.0] * len(response))
    return example


def _response(chance: random.Random) -> str:
    return f"{chance.choice(THOUGHTS)}</think><answer>{chance.choice(ACTIONS)}</answer>"
