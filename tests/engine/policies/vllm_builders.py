"""What the tests of vLLM share: whether it is here, episodes of lakes, and what a learner says of the same tokens."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import pytest
import torch

from engine.config import RolloutConfig, RunConfig
from engine.policies.loading import load_model, stop_token_ids
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EnvStateManager, EpisodeSpec

needs_vllm = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None, reason="vLLM is not installed; requirements/cluster.txt has it"
)
CONTEXT_TOKENS = 512


@cache
def tiny() -> tuple[Any, Any]:
    """The model that ships and its tokenizer."""
    return load_model("tiny")


def tiny_stop_ids() -> set[int]:
    model, tokenizer = tiny()
    return ContextManager(tokenizer, think=True, stops=stop_token_ids(model)).stop_ids


def lakes(*, groups: int, group_size: int, seed: int = 1, max_response_tokens: int = 40) -> list[EpisodeSpec]:
    config = RunConfig.model_validate(
        {"environments": [{"kind": "frozen_lake", "max_response_tokens": max_response_tokens, "max_turns": 3}]}
    )
    return EnvStateManager(config.environments, groups=groups, group_size=group_size, seed=seed).training_batch(1)


def proxy(**rollout: Any) -> AgentProxy:
    context = ContextManager(tiny()[1], think=True)
    return AgentProxy.of(RolloutConfig(**rollout), context, max_context_tokens=CONTEXT_TOKENS)


def logprobs_of(model: Any, ids: list[int]) -> list[float]:
    """Of every token of `ids` after the first, by a plain forward pass."""
    with torch.no_grad():
        logprobs = model(torch.tensor([ids])).logits[0].float().log_softmax(-1)
    return [float(row[token]) for row, token in zip(logprobs, ids[1:], strict=False)]


def random_ids(count: int, *, vocabulary: int, seed: int = 0) -> list[int]:
    return torch.randint(vocabulary, (count,), generator=torch.Generator().manual_seed(seed)).tolist()
